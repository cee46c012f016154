// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain play` of a stream on a desktop.
  @Suite(.enabled(if: Desktop.isUsable), .timeLimit(.minutes(3)))
  struct VideoStreamTests {
    /// The whole film.
    private static let isStored = #""storedSeconds":20,"totalSeconds":20"#

    /// Runs `body` with an origin, and stops it.
    private func with(_ body: (OriginServer) async throws -> Void) async throws {
      let origin = try await OriginServer.start()
      do {
        try await body(origin)
      } catch {
        await origin.stop()
        throw error
      }
      await origin.stop()
    }

    @Test
    func `The window shows the frame of a stream's position, and again without the origin`()
      async throws
    {
      try await with { origin in
        try await Program.with { program in
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
  }
#endif
