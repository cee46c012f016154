// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain play` with lists under names of media, which show what they are once they play.
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct PlayedListProgramTests {
    /// The first second of the tune.
    private static let song: [UInt8] = {
      var file = Data(Tune.wav.prefix(44 + Tune.sampleRate * Tune.channels * 2))
      for (offset, count) in [(4, file.count - 8), (40, file.count - 44)] {
        withUnsafeBytes(of: UInt32(count).littleEndian) {
          file.replaceSubrange(offset..<offset + 4, with: $0)
        }
      }
      return Array(file)
    }()

    /// Runs `body` with a program, and an origin with three songs.
    private func withSongs(
      _ body: (Program, OriginServer) async throws -> Void
    ) async throws {
      try await Program.withOrigin { program, origin in
        for path in ["/one.wav", "/two.wav", "/three.wav"] {
          origin.serve(
            OriginResource(
              .bytes(Self.song), contentType: "audio/wav", etag: "\"\(path)\"",
              headers: [.fresh]), at: path)
        }
        try await body(program, origin)
      }
    }

    /// Serves a list, and returns its URL.
    @discardableResult
    private func serve(
      _ text: String, at path: String, _ type: String = "audio/mpeg", on origin: OriginServer
    ) -> String {
      origin.serve(text: text, at: path, type, headers: [.fresh])
    }

    private func output(_ program: Program) -> String { program.path("heard.wav") }

    /// The names of the items that were heard.
    private func heard(_ run: Program.Run) -> [String] {
      run.lines.compactMap { line -> String? in
        guard line.contains(": first sound after ") else { return nil }
        return line.split(separator: ":").first.map(String.init)
      }
    }

    @Test func `A list under a name of media plays in its place, and is requested once`()
      async throws
    {
      try await withSongs { program, origin in
        let list = serve("[playlist]\nFile1=one.wav\nFile2=two.wav\n", at: "/list2.mp3", on: origin)
        let three = origin.url("/three.wav").absoluteString
        let run = try await program.run(
          "play", "--audio-output", output(program), three, list, three)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        #expect(heard(run) == ["three.wav", "one.wav", "two.wav", "three.wav"])
        #expect(run.lines.count == 4)
        #expect(origin.log("/list2.mp3").requests.count == 1)
        for number in 2...4 {
          let file = program.directory.appending(path: "heard-\(number).wav")
          let bytes = try Data(contentsOf: file)
          #expect(bytes.count > Self.song.count / 2 && bytes.count < Self.song.count * 3 / 2)
        }
      }
    }

    @Test(arguments: [
      ("#EXTM3U\n#EXTINF:1,Song\none.wav\n", "audio/mpeg"),
      ("one.wav\n", "audio/x-mpegurl"),
      ("[playlist]\nFile1=one.wav\n", "video/mp4"),
      (
        "<rss version=\"2.0\"><channel><item><enclosure url=\"one.wav\"/></item></channel></rss>",
        "text/xml"
      ),
      (
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><entry><title>Song</title>"
          + "<link rel=\"enclosure\" type=\"audio/wav\" href=\"one.wav\"/></entry></feed>",
        "application/octet-stream"
      ),
    ])
    func `A list of any format is known by its content`(_ text: String, _ type: String) async throws
    {
      try await withSongs { program, origin in
        let list = serve(text, at: "/song.mp4", type, on: origin)
        let run = try await program.run("play", "--audio-output", output(program), list)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        #expect(heard(run).count == 1 && run.lines.count == 1)
        #expect(origin.log("/song.mp4").requests.count == 1)
        #expect(origin.log("/one.wav").bytesSentTwice == 0)
      }
    }

    @Test func `JSON output reports an expanded item, and no failure`() async throws {
      try await withSongs { program, origin in
        let list = serve("#EXTM3U\none.wav\ntwo.wav\n", at: "/list2.mp3", on: origin)
        let run = try await program.run("play", "--json", list)
        #expect(run.status == 0, "\(run.errors)")
        let events = try run.events
        func urls(_ name: String) -> [String] {
          events.filter { $0["event"] as? String == name }.compactMap { event in
            (event["url"] as? String).map { String($0.split(separator: "/").last ?? "") }
          }
        }
        #expect(urls("expanded") == ["list2.mp3"])
        #expect(urls("item") == ["list2.mp3", "one.wav", "two.wav"])
        for name in ["started", "ended", "report"] {
          #expect(urls(name) == ["one.wav", "two.wav"], "\(name)")
        }
        #expect(urls("failed").isEmpty)
      }
    }

    @Test func `A shuffled list that repeats is requested once`() async throws {
      try await withSongs { program, origin in
        let list = serve("#EXTM3U\none.wav\ntwo.wav\nthree.wav\n", at: "/list2.mp3", on: origin)
        let running = try RunningProgram(
          program, ["play", "--json", "--shuffle", "--repeat", "all", list])
        var ended: [String] = []
        while ended.count < 6 {
          let line = try await running.nextLine()
          #expect(!line.contains(#""event":"failed""#), "\(line)")
          if line.contains(#""event":"ended""#) { ended.append(line) }
        }
        running.send(SIGTERM)
        #expect(await running.end() == 143)
        #expect(Set(ended.prefix(3)).count == 3 && Set(ended).count == 3)
        #expect(origin.log("/list2.mp3").requests.count == 1)
      }
    }

    @Test func `Lists that list each other are read once, and the rest plays`() async throws {
      try await withSongs { program, origin in
        let list = serve("#EXTM3U\ninner.mp3\none.wav\nouter.mp3\n", at: "/outer.mp3", on: origin)
        serve("#EXTM3U\nouter.mp3\ntwo.wav\n", at: "/inner.mp3", on: origin)
        let run = try await program.run("play", "--audio-output", output(program), list)
        #expect(run.status == 0)
        #expect(heard(run) == ["two.wav", "one.wav"])
        #expect(run.errorLines.count == 2)
        #expect(
          run.errorLines.allSatisfy { $0.hasSuffix("it is a playlist that lists itself.") },
          "\(run.errors)")
        for path in ["/outer.mp3", "/inner.mp3"] {
          #expect(origin.log(path).requests.count == 1)
        }
      }
    }

    @Test(arguments: [true, false])
    func `Lists that name another one without end are read to a depth`(
      _ isWritten: Bool
    ) async throws {
      try await withSongs { program, origin in
        for number in 0..<12 {
          serve("#EXTM3U\n\(number + 1).mp3\n", at: "/\(number).mp3", on: origin)
        }
        let options = isWritten ? ["--audio-output", output(program)] : ["--plain"]
        let run = try await program.run(
          ["play"] + options + [origin.url("/0.mp3").absoluteString])
        #expect(run.status == 1)
        #expect(run.errorLines.count == 1, "\(run.errors)")
        #expect(run.errors.contains("to a depth of 8"))
        for number in 0..<12 {
          #expect(origin.log("/\(number).mp3").requests.count == (number < 9 ? 1 : 0))
        }
      }
    }

    @Test func `A list of which nothing plays fails with its own reason`() async throws {
      try await withSongs { program, origin in
        let list = serve("#EXTM3U\n", at: "/empty.mp3", on: origin)
        let run = try await program.run(
          "play", "--audio-output", output(program), list, origin.url("/one.wav").absoluteString)
        #expect(run.status == 1)
        #expect(heard(run) == ["one.wav"])
        #expect(
          run.errors == "refrain: \(list): The playlist is empty. "
            + "Check that it is the right one: it lists no media.\n")
      }
    }

    @Test(
      .enabled(
        if: TestBus.isUsable && RequiredProgram.playerctl.isUsable
          && RequiredProgram.busctl.isUsable))
    func `A list that a desktop adds plays in its place`() async throws {
      try await withSongs { program, origin in
        try await TestBus.with { bus in
          let list = serve("#EXTM3U\none.wav\ntwo.wav\n", at: "/list2.mp3", on: origin)
          let three = origin.url("/three.wav").absoluteString
          let running = try RunningProgram(
            program, path: "/usr/bin/env", bus.playing(["--plain", "--repeat", "all", three]))
          try await eventually("it plays: \(running.errors)") {
            try await bus.playerctl("status") == "Playing"
          }
          #expect(try await bus.playerctl("pause") == "")
          func tracks() async throws -> [Substring] {
            try await bus.busctl("get-property", "Tracks", of: "TrackList").split(separator: " ")
              .dropFirst(2).map { $0.trimmingPrefix("\"").prefix { $0 != "\"" } }
          }
          let first = String(try #require(try await tracks().first))
          #expect(
            try await bus.busctl(
              "call", "AddTrack", "sob", list, first, "false", of: "TrackList") == "")
          try await eventually("it is added") { try await tracks().count == 2 }
          #expect(try await bus.playerctl("next") == "")
          try await eventually("it is expanded") { try await tracks().count == 3 }
          let one = origin.url("/one.wav").absoluteString
          #expect(try await bus.playerctl("metadata", "xesam:url") == one)
          #expect(try await bus.playerctl("status") == "Paused")
          #expect(try await bus.busctl("call", "Quit") == "")
          #expect(await running.end() == 0)
          #expect(origin.log("/list2.mp3").bytesSentTwice == 0)
        }
      }
    }
  }
#endif
