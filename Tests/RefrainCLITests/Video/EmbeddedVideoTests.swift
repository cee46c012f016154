// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// Video in the window of an app, which the app names to the library by its ID.
  @Suite(.enabled(if: Desktop.isUsable), .timeLimit(.minutes(2)))
  struct EmbeddedVideoTests {
    /// The app's window. The film has the same proportions.
    private static let size = Desktop.Size(width: 400, height: 300)

    @Test func `An app's window shows the frame of the position`() async throws {
      let origin = try await OriginServer.start()
      do {
        try await Program.with { program in
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
              "\(Self.size.width)", "\(Self.size.height)",
              program.cache.path(percentEncoded: false), origin.url("/film.mkv").absoluteString,
              "10",
            ])
          let window = Desktop.Window(id: try await app.nextLine())
          try await desktop.waits(for: 250, in: window, of: Self.size, named: "embedded")
          #expect(try await desktop.geometry(of: window).size == Self.size)
          app.send(SIGTERM)
          _ = await app.end()
          // Where the demuxer jumps, bytes that were on their way may be sent again.
          let log = origin.log("/film.mkv")
          #expect(log.bytesSentTwice <= Int64(log.requests.count - 1) * 65_536)
        }
      } catch {
        await origin.stop()
        throw error
      }
      await origin.stop()
    }
  }
#endif
