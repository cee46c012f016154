// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain play` on a desktop, which is a bus here.
  @Suite(
    .enabled(
      if: RequiredLibrary.libmpv.isUsable && TestBus.isUsable
        && RequiredProgram.playerctl.isUsable && RequiredProgram.busctl.isUsable),
    .timeLimit(.minutes(2)))
  struct DesktopProgramTests {
    /// Runs `body` with a program, an origin with the tune, and a bus.
    private func withTune(
      _ body: (Program, TestBus, OriginServer, _ url: String) async throws -> Void
    ) async throws {
      let origin = try await OriginServer.start()
      origin.serve(Tune.resource, at: "/tune.wav")
      let result: Result<Void, any Error>
      do {
        try await TestBus.with { bus in
          try await Program.with { program in
            try await body(program, bus, origin, origin.url("/tune.wav").absoluteString)
          }
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await origin.stop()
      try result.get()
    }

    private func start(
      _ program: Program, on bus: TestBus, _ arguments: String...
    ) throws -> RunningProgram {
      try RunningProgram(
        program, path: "/usr/bin/env",
        bus.playing(["--json", "--repeat", "all"] + arguments))
    }

    /// Asks until it is so. Each question starts a program: not as often as `eventually` asks.
    private func desktop(
      _ bus: TestBus, shows answer: String, to arguments: String..., of running: RunningProgram
    ) async throws {
      try await eventually("\(arguments) is \(answer): \(running.errors)") {
        let text = try await bus.run(
          RequiredProgram.playerctl, arguments: ["--player=refrain"] + arguments
        ).text
        if text.contains(answer) { return true }
        try await Task.sleep(for: .milliseconds(100))
        return false
      }
    }

    @Test func `A desktop shows what plays, controls it, and ends the program`() async throws {
      try await withTune { program, bus, _, url in
        let running = try start(program, on: bus, url)
        try await desktop(bus, shows: "Playing", to: "status", of: running)
        #expect(try await bus.playerctl("metadata", "xesam:url") == url)
        let entry = try await bus.busctl("get-property", "DesktopEntry")
        #expect(entry.contains("s \"refrain\""), "\(entry)")
        _ = try await bus.playerctl("pause")
        #expect(try await bus.playerctl("status") == "Paused")
        // By the rules of arguments: a playlist is what it lists.
        let list = program.directory.appending(path: "list.m3u")
        try Data("#EXTM3U\n#EXTINF:14,From a list\n\(url)?2\n".utf8).write(to: list)
        _ = try await bus.playerctl("open", list.absoluteString)
        try await desktop(
          bus, shows: "From a list", to: "metadata", "xesam:title", of: running)
        let missing = program.directory.appending(path: "missing.ogg").absoluteString
        _ = try await bus.playerctl("open", missing)
        try await eventually("it is reported") { running.errors.contains("missing.ogg") }
        // Has no host.
        _ = try await bus.playerctl("open", "http://listener:secret@/song.ogg")
        try await eventually("it is reported") { running.errors.contains("was not opened") }
        #expect(!running.errors.contains("secret"))
        #expect(try await bus.busctl("call", "Quit") == "")
        #expect(await running.end() == 0)
        #expect(try await bus.playerctl("--list-all") == "No players found")
      }
    }

    @Test func `Headers are sent to another server only if it received them before`() async throws {
      try await withTune { program, bus, origin, url in
        let other = try await OriginServer.start()
        for path in ["/other.wav", "/listed.wav"] { other.serve(Tune.resource, at: path) }
        origin.serve(Tune.resource, at: "/more.wav")
        let file = program.directory.appending(path: "local.wav")
        try Tune.wav.write(to: file)
        let list = program.directory.appending(path: "list.m3u")
        let listed = other.url("/listed.wav")
        try Data("#EXTM3U\n\(listed.absoluteString)\n".utf8).write(to: list)
        let running = try start(
          program, on: bus, "--header", "Authorization: Bearer abc", url,
          file.path(percentEncoded: false))
        try await desktop(bus, shows: "Playing", to: "status", of: running)
        // The queue has local files, but a local list is not a server that receives the headers.
        let opened = [
          (other, "/other.wav", other.url("/other.wav")), (other, "/listed.wav", list),
          (origin, "/more.wav", origin.url("/more.wav")),
        ]
        for (server, path, uri) in opened {
          _ = try await bus.playerctl("open", uri.absoluteString)
          try await eventually("it is requested: \(running.errors)") {
            !server.log(path).requests.isEmpty
          }
        }
        func authorizations(_ server: OriginServer, _ path: String) -> Set<String?> {
          Set(server.log(path).requests.map { $0.request.headers.first("Authorization") })
        }
        #expect(authorizations(other, "/other.wav") == [nil])
        #expect(authorizations(other, "/listed.wav") == [nil])
        #expect(authorizations(origin, "/more.wav") == ["Bearer abc"])
        running.send(SIGTERM)
        _ = await running.end()
        await other.stop()
      }
    }

    @Test func `Two programs have names of their own, and one without MPRIS has none`()
      async throws
    {
      try await withTune { program, bus, _, url in
        let silent = try start(program, on: bus, "--no-mpris", url)
        let first = try start(program, on: bus, url)
        try await desktop(bus, shows: "refrain", to: "--list-all", of: first)
        let second = try start(program, on: bus, url)
        try await desktop(bus, shows: "refrain.instance", to: "--list-all", of: second)
        while try await !silent.nextLine().contains(#""started""#) {}
        #expect(try await bus.playerctl("--list-all").split(separator: "\n").count == 2)
        for running in [silent, first, second] {
          running.send(SIGTERM)
          #expect(await running.end() == 128 + SIGTERM)
        }
        #expect(try await bus.playerctl("--list-all") == "No players found")
      }
    }
  }
#endif
