// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import RefrainLocks
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain play` on a desktop: what its window shows, and what its keys do.
  @Suite(.enabled(if: Desktop.isUsable), .timeLimit(.minutes(2)))
  struct VideoWindowTests {
    /// Reads events until one contains all of these texts, and returns it.
    @discardableResult
    private func event(_ texts: String..., of player: RunningProgram) async throws -> String {
      while true {
        let line = try await player.nextLine()
        if texts.allSatisfy({ line.contains($0) }) { return line }
      }
    }

    private static let started = #""event":"started""#
    private static let isPaused = #""status":"paused""#

    /// The position that a player has reported last, in seconds. Reads the rest of its events.
    private final class LastPosition: Sendable {
      private struct Event: Decodable {
        var event: String
        var seconds: Double?
      }

      private let last = Mutex(0.0)

      var seconds: Double { last.withLock { $0 } }

      init(of player: RunningProgram) {
        Task { [weak self, lines = player.lines] in
          for await line in lines {
            let event = try JSONDecoder().decode(Event.self, from: Data(line.utf8))
            guard event.event == "position", let seconds = event.seconds else { continue }
            self?.last.withLock { $0 = seconds }
          }
        }
      }
    }

    /// A frame in the window of a playing film, between two positions in seconds.
    private struct PlayedFrame {
      var before: Double
      var frame: Int
      var after: Double

      /// Frames between the player's clock and the display.
      private static let slack = 5

      var isOfPosition: Bool {
        func number(_ seconds: Double) -> Int { Int(seconds * Double(CountingFilm.rate)) }
        return frame >= number(before) - Self.slack && frame <= number(after) + Self.slack
      }
    }

    private func playedFrame(
      in window: Desktop.Window, of desktop: Desktop, _ position: LastPosition
    ) async throws -> PlayedFrame {
      let before = position.seconds
      let frame = try await desktop.frame(in: window, named: "played")
      var after = position.seconds
      // The player reports a few positions per second: the second one from now on is a later one.
      for _ in 0..<2 {
        let last = after
        try await eventually("it plays on from \(last)") {
          after = position.seconds
          return after != last
        }
      }
      return PlayedFrame(before: before, frame: frame, after: after)
    }

    @Test func `The window shows the frame of the position, paused, playing and after seeks`()
      async throws
    {
      try await Program.with { program in
        let film = try await CountingFilm.make("film.mkv", in: program)
        let desktop = try await Desktop(program)
        let player = try desktop.play(film.path(percentEncoded: false))
        try await event(Self.started, of: player)
        let window = try await desktop.window()
        #expect(try await desktop.title(of: window) == "film.mkv - Refrain")
        try await desktop.press("space", in: window)
        try await event(Self.isPaused, of: player)
        for (key, frame) in [
          ("5", 250), ("Left", 125), ("Home", 0), ("Right", 125), ("9", 450), ("Left", 325),
        ] {
          try await desktop.press(key, in: window)
          try await desktop.waits(for: frame, in: window, named: "paused-\(key)-\(frame)")
        }
        // It stays, and goes on from there.
        #expect(try await desktop.frame(in: window, named: "still") == 325)
        try await desktop.press("space", in: window)
        try await eventually("the film goes on") {
          (326..<CountingFilm.rate * 20).contains(
            try await desktop.frame(in: window, named: "playing"))
        }
        let position = LastPosition(of: player)
        // Far from each other: the last position before a seek is none after it.
        for (key, start) in [("1", 2), ("5", 10), ("3", 6)] as [(String, Double)] {
          try await desktop.press(key, in: window)
          try await eventually("it plays on from \(start)") {
            (start + 0.3..<start + 3).contains(position.seconds)
          }
          // A busy machine may be late for once, but not each time.
          var tries: [PlayedFrame] = []
          while tries.count < 4, tries.last?.isOfPosition != true {
            tries.append(try await playedFrame(in: window, of: desktop, position))
          }
          #expect(tries.last?.isOfPosition == true, "\(tries)")
        }
        try await desktop.press("q", in: window)
        #expect(await player.end() == 0)
      }
    }

    @Test func `The controller appears in the window when the mouse moves`() async throws {
      try await Program.with { program in
        let film = try await CountingFilm.make("film.mkv", in: program)
        let desktop = try await Desktop(program)
        let player = try desktop.play(film.path(percentEncoded: false))
        try await event(Self.started, of: player)
        let window = try await desktop.window()
        try await desktop.press("space", in: window)
        try await event(Self.isPaused, of: player)
        // All bits are 0.
        try await desktop.press("Home", in: window)
        try await desktop.waits(for: 0, in: window, named: "without-controller")
        try await eventually("its bar is shown") {
          for x in [100, 140] {
            try await desktop.move(to: x, CountingFilm.height - 40, in: window)
          }
          let pixels = try await desktop.pixels(
            of: CountingFilm.height - 20..<CountingFilm.height, in: window, named: "controller")
          return pixels.contains { $0 > 127 }
        }
        try await desktop.press("q", in: window)
        #expect(await player.end() == 0)
      }
    }

    @Test func `Keys of the window act on the queue, and closing it ends the program`() async throws
    {
      try await Program.with { program in
        let first = try await CountingFilm.make("first.mkv", in: program)
        let second = program.directory.appending(path: "second.mkv")
        try FileManager.default.copyItem(at: first, to: second)
        let desktop = try await Desktop(program)
        let player = try desktop.play(
          first.path(percentEncoded: false), second.path(percentEncoded: false))
        try await event(Self.started, "first.mkv", of: player)
        let window = try await desktop.window()
        try await desktop.press("n", in: window)
        try await event(Self.started, "second.mkv", of: player)
        try await desktop.press("p", in: try await desktop.window())
        try await event(Self.started, "first.mkv", of: player)
        try await desktop.close(try await desktop.window())
        #expect(await player.end() == 0)
      }
    }

    @Test
    func `Ten changes of sound and subtitle, and of the window, fetch no byte twice`() async throws
    {
      let origin = try await OriginServer.start()
      let subtitle = Array("1\n00:00:00,000 --> 00:00:19,000\nHello\n".utf8)
      origin.serve(
        OriginResource(.bytes(subtitle), contentType: "text/plain", etag: "\"s\""), at: "/film.srt")
      do {
        try await Program.with { program in
          let film = try await CountingFilm.make("film.mkv", in: program)
          let bytes = [UInt8](try Data(contentsOf: film))
          origin.serve(
            OriginResource(.bytes(bytes), contentType: "video/x-matroska", etag: "\"f\""),
            at: "/film.mkv")
          // The rest is sent once all changes were made.
          let length = Int64(bytes.count)
          origin.script("/film.mkv", .on(.all, .stall(at: .resource(length / 2))))
          let desktop = try await Desktop(program)
          let player = try desktop.play(
            "--sub", origin.url("/film.srt").absoluteString,
            origin.url("/film.mkv").absoluteString)
          try await event(Self.started, of: player)
          let window = try await desktop.window()
          for change in 0..<10 {
            try await desktop.press(change.isMultiple(of: 2) ? "a" : "s", in: window)
            try await event(#""event":"tracks""#, of: player)
          }
          try await desktop.press("v", in: window)
          try await event(#""event":"tracks""#, of: player)
          #expect(origin.log("/film.mkv").distinctBytesSent < length)
          origin.script("/film.mkv", FaultScript())
          origin.release("/film.mkv")
          try await eventually("the film is stored") {
            origin.log("/film.mkv").distinctBytesSent >= length
          }
          player.send(SIGINT)
          _ = await player.end()
          #expect(origin.log("/film.mkv").bytesSentTwice == 0)
          #expect(origin.log("/film.srt").requests.count == 1)
          #expect(origin.log("/film.srt").bytesSentTwice == 0)
        }
      } catch {
        await origin.stop()
        throw error
      }
      await origin.stop()
    }

    @Test(arguments: [false, true])
    func `A cover opens a window only on request`(_ isRequested: Bool) async throws {
      try await Program.with { program in
        let song = try await CountingFilm.song("song.flac", in: program)
        let desktop = try await Desktop(program)
        let path = song.path(percentEncoded: false)
        let player = try isRequested ? desktop.play("--window", path) : desktop.play(path)
        var lines: [String] = []
        for await line in player.lines { lines.append(line) }
        #expect(await player.end() == 0)
        #expect(lines.contains { $0.contains(Self.started) })
        #expect(lines.contains { $0.contains(#""event":"video""#) } == isRequested)
      }
    }

    @Test(arguments: [[], ["--audio-only"]])
    func `Without a display a film is heard, and one line reports it`(
      _ options: [String]
    ) async throws {
      try await Program.with { program in
        let film = try await CountingFilm.make("film.mkv", in: program)
        let run = try await program.run(
          ["play", "--plain", "--no-mpris", "--start", "19.5"] + options
            + [film.path(percentEncoded: false)])
        #expect(run.status == 0)
        #expect(run.output.hasPrefix("film.mkv: first sound after "))
        let reports = run.errorLines.filter { $0.contains("No display was found") }
        #expect(reports.count == (options.isEmpty ? 1 : 0))
      }
    }
  }
#endif
