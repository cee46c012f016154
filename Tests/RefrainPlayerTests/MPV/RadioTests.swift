// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  /// A live stream as the listener hears it.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct RadioTests {
    @Test func `Title and station of a live stream are reported while it plays`() async throws {
      try await Listening.with { listening in
        // The tune's samples after a header that promises hours of them.
        var wav = Data(Tune.wav)
        wav.replaceSubrange(40..<44, with: [0, 0, 0, 0x7F])
        let radio = listening.serveStation(wav, type: "audio/wav") {
          $0.bytesPerSecond = 400_000
          $0.interleaving = Interleaving(
            interval: 16_000, titles: [1: "Somebody - First", 40: "Somebody - Second"])
        }
        let player = try await listening.player()
        let events = player.events()
        player.play(radio)
        var titles: [String] = []
        for await event in events {
          if case .metadata(let metadata) = event, let title = metadata.streamTitle,
            titles.last != title
          {
            titles.append(title)
            #expect(metadata.station == "Radio Refrain")
          }
          if titles.count == 2 { break }
        }
        #expect(titles == ["Somebody - First", "Somebody - Second"])
        try await eventually("it plays") { player.status == .playing }
        #expect(player.isLive && player.duration == nil)
        await player.close()
      }
    }

    /// Serves ten minutes of MPEG frames without any header, as stations send them.
    private func serve(_ listening: Listening, isStation: Bool) -> Media {
      listening.serveStation(SilentMP3.lasting(seconds: 600), type: "audio/mpeg") {
        if !isStation { $0.headers = [] }
        $0.bytesPerSecond = SilentMP3.bytesPerSecond * 3
      }
    }

    @Test(arguments: [false, true])
    func `A station that begins within a frame is heard from its first whole frames`(
      _ isKept: Bool
    ) async throws {
      try await Listening.with { listening in
        let radio = listening.serveStation(
          NumberedFrames.mp3(0..<2000).dropFirst(100), type: "audio/mpeg")
        // Two seconds of sound, and no more.
        listening.origin.script("/radio", .on(.all, [.stall(at: .body(32_000))]))
        var configuration = Player.Configuration()
        if isKept { configuration.rewind = 64 << 20 }
        let player = try await listening.player(configuration)
        let events = player.events()
        player.play(radio)
        var hasStarted = false
        for await event in events {
          if case .failed = event { Issue.record("\(event)") }
          guard case .started = event else { continue }
          hasStarted = true
          break
        }
        #expect(hasStarted && player.isLive)
        #expect(listening.origin.log("/radio").distinctBytesSent <= 32_000)
        await player.close()
      }
    }

    @Test func `Seeks in a live stream do nothing and are reported as refused`() async throws {
      try await Listening.with { listening in
        let player = try await listening.player()
        let radio = serve(listening, isStation: true)
        let events = player.events()
        player.play([radio, listening.media])
        var refused = 0
        var asked: Duration?
        for await event in events {
          switch event {
          case .position(let position) where asked == nil && position > .seconds(0.5):
            asked = position
            player.seek(by: .seconds(-5))
            player.seek(by: .seconds(60))
            player.seek(to: .zero)
            player.scrub(to: .seconds(1))
          case .seekRefused(let item):
            #expect(item.media == radio)
            refused += 1
          case .duration(.some), .seekCompleted, .finished, .failed: Issue.record("\(event)")
          default: break
          }
          if case .position(let position) = event, let asked, position > asked + .seconds(0.5) {
            break
          }
        }
        #expect(refused == 4)
        #expect(player.isLive && player.status == .playing && player.item?.media == radio)
        // A start position other than the station's current one is a seek, too.
        player.play([radio], from: .seconds(10))
        let again = player.events()
        for await event in again {
          if case .seekRefused = event { refused += 1 }
          if case .failed = event { Issue.record("\(event)") }
          if case .started = event { break }
        }
        #expect(refused == 5 && player.isLive)
        // The next item has a length.
        player.play(listening.media)
        #expect(!player.isLive)
        try await eventually("the tune plays") { player.duration != nil }
        await player.close()
      }
    }

    @Test
    func `A stored stream of unknown length can be sought and has no duration`() async throws {
      try await Listening.with { listening in
        let player = try await listening.player()
        let media = serve(listening, isStation: false)
        let events = player.events()
        player.play([media])
        var hasAsked = false
        for await event in events {
          switch event {
          case .position(let position) where !hasAsked && position > .seconds(1.5):
            hasAsked = true
            player.seek(to: .seconds(0.5))
          case .duration(.some), .seekRefused, .failed, .finished: Issue.record("\(event)")
          default: break
          }
          if case .seekCompleted(let position) = event {
            #expect(abs(position / .seconds(1) - 0.5) < 0.2)
            break
          }
        }
        #expect(!player.isLive && player.duration == nil)
        await player.close()
      }
    }
  }
#endif
