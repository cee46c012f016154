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
        try await player.events(PlayEvents.started)
        let window = try await desktop.window()
        #expect(try await desktop.title(of: window) == "film.mkv - Refrain")
        try await desktop.press("space", in: window)
        try await player.events(PlayEvents.isPaused)
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
        try await player.events(PlayEvents.started)
        let window = try await desktop.window()
        try await desktop.press("space", in: window)
        try await player.events(PlayEvents.isPaused)
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
        try await player.started("first.mkv")
        let window = try await desktop.window()
        try await desktop.press("n", in: window)
        try await player.started("second.mkv")
        try await desktop.press("p", in: try await desktop.window())
        try await player.started("first.mkv")
        try await desktop.close(try await desktop.window())
        #expect(await player.end() == 0)
      }
    }

    @Test
    func `Ten changes of sound and subtitle, and of the window, fetch no byte twice`() async throws
    {
      try await Program.withOrigin { program, origin in
        let subtitle = origin.serve(
          text: "1\n00:00:00,000 --> 00:00:19,000\nHello\n", at: "/film.srt", "text/plain")
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
          "--sub", subtitle, origin.url("/film.mkv").absoluteString)
        try await player.events(PlayEvents.started)
        let window = try await desktop.window()
        for change in 0..<10 {
          try await desktop.press(change.isMultiple(of: 2) ? "a" : "s", in: window)
          try await player.events(#""event":"tracks""#)
        }
        try await desktop.press("v", in: window)
        try await player.events(#""event":"tracks""#)
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
    }

    @Test func `A cover opens a window only on request`() async throws {
      try await Program.with { program in
        let song = try await CountingFilm.song("song.flac", in: program)
        let desktop = try await Desktop(program)
        let path = song.path(percentEncoded: false)
        for options in [[], ["--window"]] {
          let player = try desktop.play(options + [path])
          var lines: [String] = []
          for await line in player.lines { lines.append(line) }
          #expect(await player.end() == 0)
          #expect(lines.contains { $0.contains(PlayEvents.started) })
          #expect(lines.contains { $0.contains(#""event":"video""#) } == !options.isEmpty)
        }
      }
    }

    @Test func `Without a display a film is heard, and one line reports it`() async throws {
      try await Program.with { program in
        let film = try await CountingFilm.make("film.mkv", in: program)
        for options in [[], ["--audio-only"]] {
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

    // MARK: The window of an app, which the app names to the library by its ID

    /// The app's window. The film has the same proportions.
    private static let appSize = Desktop.Size(width: 400, height: 300)

    @Test func `An app's window shows the frame of the position`() async throws {
      try await Program.withOrigin { program, origin in
        let film = try await CountingFilm.make("film.mkv", in: program)
        origin.serve(
          OriginResource(
            .bytes([UInt8](try Data(contentsOf: film))), contentType: "video/x-matroska",
            etag: "\"f\""),
          at: "/film.mkv")
        let desktop = try await Desktop(program)
        let app = try desktop.run(
          Program.executable("refrain-window-app").path(percentEncoded: false),
          [
            "\(Self.appSize.width)", "\(Self.appSize.height)",
            program.cache.path(percentEncoded: false), origin.url("/film.mkv").absoluteString,
            "10",
          ])
        let window = Desktop.Window(id: try await app.nextLine())
        try await desktop.waits(for: 250, in: window, of: Self.appSize, named: "embedded")
        #expect(try await desktop.geometry(of: window).size == Self.appSize)
        app.send(SIGTERM)
        _ = await app.end()
        // Where the demuxer jumps, bytes that were on their way may be sent again.
        let log = origin.log("/film.mkv")
        #expect(log.bytesSentTwice <= Int64(log.requests.count - 1) * 65_536)
      }
    }

    // MARK: A stream

    /// The whole film.
    private static let isStored = #""storedSeconds":20,"totalSeconds":20"#

    @Test
    func `The window shows the frame of a stream's position, and again without the origin`()
      async throws
    {
      try await Program.withOrigin { program, origin in
        let stream = try await CountingStream(on: origin, in: program)
        let desktop = try await Desktop(program)
        for play in ["cold", "offline"] {
          let player = try desktop.play(
            "--paused", origin.url(CountingStream.manifest).absoluteString)
          // Also paused, the player reads to the end of such a short film.
          try await player.events(PlayEvents.started, Self.isStored)
          let window = try await desktop.window()
          try await desktop.waits(for: 0, in: window, named: "stream-\(play)-start")
          for (key, frame) in [
            ("5", 250), ("Left", 125), ("Home", 0), ("Right", 125), ("9", 450), ("Left", 325),
            ("Home", 0),
          ] {
            try await desktop.press(key, in: window)
            try await desktop.waits(for: frame, in: window, named: "stream-\(play)-\(frame)")
          }
          try await desktop.press("space", in: window)
          try await eventually("the stream goes on") {
            (1..<CountingFilm.rate * 20).contains(
              try await desktop.frame(in: window, named: "stream-\(play)-playing"))
          }
          try await desktop.press("q", in: window)
          #expect(await player.end() == 0)
          await origin.stopListening()
        }
        #expect(stream.segments.count == 10)
        for (path, length) in stream.segments {
          let log = origin.log(path)
          #expect(log.distinctBytesSent == length && log.bytesSentTwice == 0, "\(path)")
        }
      }
    }
  }
#endif
