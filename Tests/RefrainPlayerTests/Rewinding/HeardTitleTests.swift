// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// The titles of a station of which a part is kept, as the engine reports them.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(1)))
  struct HeardTitleTests {
    /// Otherwise, the player would show the title of sound that is heard later.
    @Test func `The title of what is heard follows the part that is kept`() async throws {
      try await Listening.with { listening in
        // All of the sound, with a second title, arrives while libmpv opens the station.
        let radio = listening.serveStation(seconds: 400, speed: nil).asEngineMedia
        let engine = try await MPVEngine(cache: listening.cache, output: .silent)
        let referee = EngineReferee(engine)
        let item = referee.load(radio, rewind: 256 << 20)
        try await eventually("it has a title") {
          referee.events.contains {
            if case .streamTitle(_, let title) = $0 { title.title != nil } else { false }
          }
        }
        let kinds = referee.events.compactMap { event -> String? in
          switch event {
          case .liveWindow: "window"
          case .ready: "ready"
          case .streamTitle(_, let title): title.title
          default: nil
          }
        }
        let title = try #require(kinds.firstIndex { $0 != "window" && $0 != "ready" })
        #expect(kinds[title] == "First" && kinds[..<title].contains("window"), "\(kinds)")
        #expect(referee.violations == [])
        #expect(!referee.isOver(item))
        await referee.close()
      }
    }
  }
#endif
