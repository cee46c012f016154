// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// The commands that a listener gives libmpv itself: by the controller in its window, and by
  /// dropping files there.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(1)))
  struct ControllerTests {
    /// Runs `body` with an engine that may open windows. Sound opens none.
    private func with(_ body: (Listening, MPVEngine) async throws -> Void) async throws {
      try await Listening.with { listening in
        let engine = try await MPVEngine(cache: listening.cache, output: .silent, video: .window)
        do {
          try await body(listening, engine)
        } catch {
          await engine.close()
          throw error
        }
        await engine.close()
      }
    }

    @Test func `After a gapless change the button to the previous item does nothing`() async throws
    {
      try await with { listening, engine in
        let referee = EngineReferee(engine)
        let first = try listening.file("first.wav", tenths: 5)
        let media = try listening.file("second.wav", tenths: 10)
        referee.load(first)
        let second = try #require(referee.follow(with: media))
        try await eventually("the second is ready") { referee.isReady(second) }
        engine.mailbox.post(.command(["playlist-prev", "weak"]))
        try await eventually("the second ends") { referee.isOver(second) }
        #expect(referee.events.last == .ended(second, followedBy: nil))
        #expect(referee.violations == [])
      }
    }

    enum Press: CaseIterable {
      case dropsFile, goesToNext
    }

    @Test(arguments: Press.allCases)
    func `A dropped file, or the button to the next item after the last, lets the item play on`(
      _ press: Press
    ) async throws {
      try await with { listening, engine in
        let media = try listening.file("long.wav", tenths: 100)
        let other = try listening.file("other.wav", tenths: 100)
        let player = Player(cache: listening.cache, engine: engine)
        // The item follows itself in libmpv's list.
        player.repeatMode = .one
        let events = player.events()
        player.play([media], from: .seconds(4))
        var hasPressed = false
        var isLoadedAgain = false
        var items = 0
        for await event in events {
          switch event {
          case .item: items += 1
          case .status(.playing) where !hasPressed:
            hasPressed = true
            switch press {
            case .dropsFile:
              let path = other.url.path(percentEncoded: false)
              engine.mailbox.post(.command(["loadfile", path]))
            case .goesToNext: engine.mailbox.post(.command(["playlist-next", "weak"]))
            }
          case .status(.loading) where hasPressed: isLoadedAgain = true
          case .status(.playing) where isLoadedAgain:
            #expect(player.position > .seconds(3.9) && items == 1)
            await player.close()
          case .finished, .failed:
            Issue.record("\(event)")
            await player.close()
          default: break
          }
        }
        #expect(isLoadedAgain)
      }
    }

    @Test func `Tracks that the listener selects are reported as choices, and only those`()
      async throws
    {
      try await with { listening, engine in
        let subtitle = try listening.writeSubtitle("good.srt")
        let other = try listening.file("other.wav", tenths: 100)
        let referee = EngineReferee(engine)
        let item = referee.load(try listening.file("long.wav", tenths: 100))
        try await referee.waitUntilReady(item)
        let (first, second) = (MediaTrack.ID(.audio, 1), MediaTrack.ID(.audio, 2))
        let text = MediaTrack.ID(.subtitle, 1)

        engine.mailbox.post(
          .command(["audio-add", other.url.path(percentEncoded: false), "auto"]))
        engine.mailbox.post(.command(["cycle", "aid"]))
        try await eventually("the second track is selected") { referee.selected == [second] }
        engine.select(first, of: .audio)
        try await eventually("the first track is selected") { referee.selected == [first] }
        engine.mailbox.post(.command(["sub-add", subtitle.path(percentEncoded: false)]))
        try await eventually("the subtitle is selected") { referee.selected == [first, text] }
        engine.mailbox.post(.command(["set", "sid", "no"]))
        try await eventually("the subtitle is off") { referee.selected == [first] }
        // Later than any report of the selections.
        let serial = referee.seek(to: .seconds(1))
        try await eventually("it sought") { referee.arrival(of: item)?.serial == serial }
        #expect(
          referee.requests
            == [.select(second, .audio), .select(text, .subtitle), .select(nil, .subtitle)])
      }
    }

    @Test(arguments: [VideoConfiguration.window, .none])
    func `The only sound of an item stays selected`(_ video: VideoConfiguration) async throws {
      try await Listening.with { listening in
        let referee = try await listening.referee(video)
        let item = referee.load(try listening.file("sound.wav", tenths: 100))
        try await referee.waitUntilReady(item)
        let reports = referee.tracks.count
        referee.engine.select(nil, of: .audio)
        // Reported again to the player, which showed another selection.
        try await eventually("the tracks are reported") { referee.tracks.count > reports }
        let serial = referee.seek(to: .seconds(9))
        try await eventually("it plays on") { referee.arrival(of: item)?.serial == serial }
        await referee.close()
        let later = referee.tracks.dropFirst(reports)
        #expect(later.allSatisfy { $0.selected == [.init(.audio, 1)] })
      }
    }
  }
#endif
