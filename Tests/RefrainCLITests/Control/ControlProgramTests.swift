// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain play --control`, driven over its socket.
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct ControlProgramTests {
    private func withTune(
      _ body: (Program, _ url: String, _ socket: String) async throws -> Void
    ) async throws {
      let origin = try await OriginServer.start()
      origin.serve(Tune.resource, at: "/tune.wav")
      let socket = FileManager.default.temporaryDirectory
        .appending(path: "rp-\(UUID().uuidString.prefix(8))").path(percentEncoded: false)
      let result: Result<Void, any Error>
      do {
        try await Program.with { program in
          try await body(program, origin.url("/tune.wav").absoluteString, socket)
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await origin.stop()
      // Of a program that was killed. There need not be any.
      try? FileManager.default.removeItem(atPath: socket)
      try result.get()
    }

    private func connect(
      _ socket: String, _ running: RunningProgram
    ) async throws -> ControlConnection {
      var connection: ControlConnection?
      try await eventually("it listens: \(running.errors)") {
        // Not yet.
        connection = try? ControlConnection(socket)
        return connection != nil
      }
      return try #require(connection)
    }

    @Test func `A program is driven over its socket, with standard input closed`() async throws {
      try await withTune { program, url, socket in
        let path = try Program.executable().path(percentEncoded: false)
        let running = try RunningProgram(
          program, path: "/bin/sh",
          [
            "-c", #"exec "$0" "$@" <&-"#, path, "play", "--plain", "--repeat", "all", "--control",
            socket, url,
          ])
        let client = try await connect(socket, running)
        #expect(try await client.ask(#""observe_property",1,"time-pos""#).error == "success")
        while try await (client.event("property-change", of: "time-pos").data?.finite ?? 0) <= 0 {}
        #expect(try await client.get("path") == .string(url))
        #expect(try await client.ask(#""set_property","pause",true"#).error == "success")
        #expect(try await client.ask(#""seek",10,"absolute""#).error == "success")
        // libmpv seeks to a frame of the sound, not to a sample.
        try await eventually("it is there") {
          let position = try await client.get("time-pos")?.finite ?? 0
          return abs(position - 10) < 0.5
        }
        let list = program.directory.appending(path: "list.m3u")
        try Data("#EXTM3U\n#EXTINF:14,From a list\n\(url)?2\n".utf8).write(to: list)
        let file = list.path(percentEncoded: false)
        #expect(try await client.ask(#""loadfile","\#(file)","insert-next""#).error == "success")
        #expect(try await client.ask(#""playlist-next""#).error == "success")
        #expect(try await client.get("media-title") == .string("From a list"))
        // As with --json.
        let other = try await connect(socket, running)
        #expect(try await other.ask(#""cycle","pause""#).error == "success")
        _ = try await other.event("started")
        _ = try await other.event("position")
        // Each player has its own.
        let second = try await program.run("play", "--control", socket, url)
        #expect(second.status == 1 && second.errorLines.count == 1)
        #expect(second.errors.contains("is in use by another program. End that one, or name"))
        #expect(try await client.ask(#""quit""#).error == "success")
        #expect(await running.end() == 0)
        #expect(!FileManager.default.fileExists(atPath: socket))
      }
    }

    /// A display server that only accepts connections.
    private final class CountedDisplay: Sendable {
      let path: String
      private let listener: CInt

      init(in directory: URL) throws {
        path = directory.appending(path: "display").path(percentEncoded: false)
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        listener = socket(AF_UNIX, type, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) {
          $0.copyBytes(from: path.utf8.prefix($0.count - 1))
        }
        let isBound = withUnsafePointer(to: address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
          }
        }
        try #require(isBound && listen(listener, 1000) == 0)
      }

      deinit { close(listener) }

      /// Returns the number of connections since the last call.
      func connections() -> Int {
        var count = 0
        while true {
          let client = accept(listener, nil, nil)
          guard client >= 0 else { return count }
          close(client)
          count += 1
        }
      }
    }

    @Test func `While something plays, the display is not looked for`() async throws {
      try await withTune { program, url, socket in
        let display = try CountedDisplay(in: URL(filePath: NSTemporaryDirectory()))
        defer { try? FileManager.default.removeItem(atPath: display.path) }
        let running = try RunningProgram(
          program, path: "/usr/bin/env",
          [
            "WAYLAND_DISPLAY=\(display.path)",
            try Program.executable().path(percentEncoded: false), "play", "--json", "--audio-only",
            "--repeat", "all", "--control", socket, url,
          ])
        let client = try await connect(socket, running)
        _ = try await client.event("position")
        #expect(display.connections() > 0)
        // Each of them publishes the state.
        for _ in 0..<5 { _ = try await client.event("position") }
        #expect(display.connections() == 0)
        #expect(try await client.ask(#""quit""#).error == "success")
        #expect(await running.end() == 0)
      }
    }

    @Test func `The socket of a killed program is replaced, and a signal removes it`() async throws
    {
      try await withTune { program, url, socket in
        let first = try RunningProgram(
          program, ["play", "--json", "--paused", "--audio-only", "--control", socket, url])
        let client = try await connect(socket, first)
        #expect(try await client.get("playlist-count") == .integer(1))
        first.send(SIGKILL)
        #expect(await first.end() == -SIGKILL)
        #expect(FileManager.default.fileExists(atPath: socket))
        let second = try RunningProgram(
          program, ["play", "--json", "--paused", "--audio-only", "--control", socket, url])
        #expect(try await connect(socket, second).get("pause") == .bool(true))
        second.send(SIGTERM)
        #expect(await second.end() == 143)
        #expect(!FileManager.default.fileExists(atPath: socket))
      }
    }

    @Test func `A program that ends with a failed item reports that first`() async throws {
      try await withTune { program, url, socket in
        let running = try RunningProgram(
          program, ["play", "--plain", "--paused", "--audio-only", "--control", socket, url])
        let client = try await connect(socket, running)
        let missing = url.replacing("tune.wav", with: "missing.wav")
        #expect(try await client.ask(#""loadfile","\#(missing)""#).error == "success")
        var ends: [String] = []
        while let line = try await client.line() {
          if line.event == "end-file" { ends.append(line.reason ?? "-") }
          if line.event == "failed" { ends.append("failed") }
        }
        #expect(ends == ["stop", "error", "failed"])
        #expect(await running.end() == 1)
      }
    }

    @Test(.enabled(if: Tmux.canPlay))
    func `The screen and the socket show the same player, and typed media are added`() async throws
    {
      try await withTune { program, url, socket in
        let folder = program.directory.appending(path: "album", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in ["x", "y"] {
          try Data(Tune.wav).write(to: folder.appending(path: "\(name).wav"))
        }
        try await Tmux.with(program) { tmux in
          try await tmux.enter("./refrain play --paused --control \(socket) \(url); echo code $?")
          try await tmux.waits(for: "‖  tune.wav")
          let client = try ControlConnection(socket)
          #expect(try await client.ask(#""set_property","volume",35"#).error == "success")
          try await tmux.waits(for: "volume 35%")
          try await tmux.press("A")
          try await tmux.type("albumm")
          try await tmux.press("BSpace")
          try await tmux.waits(for: "Add album", "adds to the queue")
          try await tmux.press("Enter")
          try await tmux.waits(for: "Added to the queue: 2 items", "1 of 3")
          #expect(try await client.get("playlist-count") == .integer(3))
          try await tmux.press("A")
          try await tmux.type("none.ogg")
          try await tmux.press("Enter")
          try await tmux.waits(for: "none.ogg does not exist.", "Check its name")
          try await tmux.press("A")
          try await tmux.type("q")
          try await tmux.waits(for: "Add q")
          try await tmux.press("Escape")
          try await tmux.waits(until: "it is left") { !$0.contains { $0.contains("Add q") } }
          #expect(try await client.get("playlist-count") == .integer(3))
          try await tmux.press("q")
          try await tmux.waits(for: "code 0")
          #expect(!FileManager.default.fileExists(atPath: socket))
        }
      }
    }
  }
#endif
