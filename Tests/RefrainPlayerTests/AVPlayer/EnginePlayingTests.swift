// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import Testing
  import TestSupport

  @testable import RefrainPlayer

  @MainActor @Suite(.timeLimit(.minutes(2))) struct EnginePlayingTests {
    @Test func `An item's events are reported from its beginning to its end`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item(seconds: 5)
        try await listening.start(item)
        await listening.pass(6)
        let events = listening.steps
        #expect(
          events == [
            .began(item.id), .duration(item.id, .seconds(5)), .ready(item.id, at: .zero),
            .ended(item.id, followedBy: nil),
          ])
        let positions = listening.positions
        #expect(positions.count >= 49 && positions.count <= 51, "ten a second")
        #expect(zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 })
        #expect(listening.events.contains(.buffered(item.id, [.zero..<(.seconds(5))])))
        #expect(listening.events.last == .ended(item.id, followedBy: nil))
      }
    }

    @Test func `Engine methods report no event before they return`() async throws {
      try await AppleListening.with { listening in
        listening.engine.load(listening.item(), at: .zero, isPaused: false)
        #expect(listening.events.isEmpty)
        listening.engine.pause()
        listening.engine.seek(to: .seconds(1), serial: 1)
        #expect(listening.events.isEmpty)
      }
    }

    @Test func `A rate changes the speed and is kept for the next item`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item(seconds: 60)
        try await listening.start(item)
        listening.engine.setRate(2)
        await listening.pass(10)
        #expect(listening.positions.last == .seconds(20))
        #expect(listening.positions.count <= 101, "ten a second of the clock")
        listening.engine.pause()
        listening.engine.setRate(0.5)
        #expect(listening.engine.player.rate == 0, "a rate is no command to play")
        listening.engine.play()
        await listening.pass(10)
        #expect(listening.positions.last == .seconds(25))
        let other = listening.item("/b.wav", seconds: 60)
        try await listening.start(other)
        await listening.pass(10)
        #expect(listening.positions.last == .seconds(5))
        listening.engine.setRate(17)
        #expect(listening.engine.player.rate == 4)
      }
    }

    @Test func `Volume and mute are applied to AVPlayer, and volume is clamped`() async throws {
      try await AppleListening.with { listening in
        listening.engine.setVolume(0.25, isMuted: true)
        #expect(listening.engine.player.volume == 0.25 && listening.engine.player.isMuted)
        listening.engine.setVolume(7, isMuted: false)
        #expect(listening.engine.player.volume == 1 && !listening.engine.player.isMuted)
      }
    }

    @Test func `A local file is played without the cache`() async throws {
      try await AppleListening.with { listening in
        let file = listening.directory.appending(path: "song.wav")
        try Wave(seconds: 3).data.write(to: file)
        let item = listening.item(at: file)
        try await listening.start(item)
        await listening.pass(4)
        #expect(listening.events.last == .ended(item.id, followedBy: nil))
        #expect(listening.engine.statistics(of: item.id) == nil)
      }
    }

    @Test func `A stream has no duration`() async throws {
      try await AppleListening.with { listening in
        let url = try #require(URL(string: "http://127.0.0.1:9/live.m3u8"))
        let item = listening.item(at: url)
        listening.engine.load(item, at: .zero, isPaused: false)
        try await listening.waitForReady(item)
        #expect(listening.events.contains(.duration(item.id, nil)))
        #expect(listening.engine.player.automaticallyWaitsToMinimizeStalling)
        await listening.pass(100)
        #expect(listening.positions.last == .seconds(100))
      }
    }

    @Test
    func `AirPlay is allowed only for items that a receiver can load by itself`() async throws {
      try await AppleListening.with { listening in
        let file = listening.directory.appending(path: "song.wav")
        try Wave(seconds: 3).data.write(to: file)
        let (cached, plain) = (listening.item(seconds: 3), listening.item(at: file))
        try await listening.start(cached)
        #expect(!listening.engine.player.allowsExternalPlayback)
        listening.engine.follow(with: plain)
        try await listening.loaded()
        await listening.pass(4)
        #expect(listening.events.contains(.began(plain.id)))
        #expect(listening.engine.player.allowsExternalPlayback)
        try await listening.start(listening.item("/b.wav", seconds: 3))
        #expect(!listening.engine.player.allowsExternalPlayback)
      }
    }

    @Test
    func `Radio is reported as live and plays with AVPlayer's automatic waiting`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item("/radio.wav", seconds: 30) {
          $0.declaresLength = false
          $0.supportsRanges = false
          // If all of it had come, its length would be known.
          $0.bytesPerSecond = 500
        }
        listening.engine.load(item, at: .zero, isPaused: false)
        try await listening.waitForReady(item)
        #expect(listening.events.contains(.live(item.id)))
        #expect(listening.engine.player.automaticallyWaitsToMinimizeStalling)
        // The item's URL still has a scheme that only this process knows.
        #expect(!listening.engine.player.allowsExternalPlayback)
        await listening.pass(50)
        #expect(listening.positions.last == .seconds(50))
      }
    }

    @Test func `Video is reported once it appears`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item()
        try await listening.start(item)
        let playing = try #require(listening.engine.player.currentItem)
        playing.standInShow(CGSize(width: 640, height: 360))
        try await listening.wait("pictures") {
          $0 == .metadata(item.id, MediaMetadata(isVideo: true))
        }
      }
    }

    @Test func `AVPlayer waits by itself for a film through the cache, not for sound`() async throws
    {
      try await AppleListening.with { listening in
        let (sound, film) = (listening.item(seconds: 3), listening.item("/b.wav", seconds: 3))
        try await listening.start(sound)
        let player = listening.engine.player
        #expect(!player.automaticallyWaitsToMinimizeStalling)
        listening.engine.follow(with: film)
        try await listening.loaded()
        player.items().last?.standInShow(CGSize(width: 640, height: 360))
        await listening.pass(4)
        #expect(listening.events.contains(.began(film.id)))
        #expect(player.automaticallyWaitsToMinimizeStalling)
        try await listening.start(listening.item("/c.wav", seconds: 3))
        #expect(!player.automaticallyWaitsToMinimizeStalling)
      }
    }

    @Test func `Precise timing is requested only if it is preferred`() async throws {
      try await AppleListening.with { listening in
        let file = listening.directory.appending(path: "song.wav")
        try Wave(seconds: 3).data.write(to: file)
        for isPrecise in [false, true] {
          listening.engine.prefersPreciseTiming = isPrecise
          for item in [listening.item(), listening.item(at: file)] {
            listening.engine.load(item, at: .zero, isPaused: false)
            let asset = try #require(listening.engine.player.currentItem?.asset as? AVURLAsset)
            #expect(
              asset.standInOptions[AVURLAssetPreferPreciseDurationAndTimingKey] == "\(isPrecise)")
          }
        }
      }
    }

    @Test func `Metadata of the file and of the stream is reported`() async throws {
      try await AppleListening.with { listening in
        let wave = Wave(
          seconds: 5, texts: [("INAM", "Refrain"), ("IART", "Somebody"), ("IPRD", "Songs")])
        var item = listening.item()
        listening.origin.serve(
          OriginResource(.bytes(wave.data), contentType: "audio/wav", etag: "\"said\""),
          at: "/said.wav")
        item.media.url = listening.origin.url("/said.wav")
        try await listening.start(item)
        let head = MediaMetadata(title: "Refrain", artist: "Somebody", album: "Songs")
        try await listening.wait("metadata") { $0 == .metadata(item.id, head) }
        let playing = try #require(listening.engine.player.currentItem)
        playing.standInEmit([
          StandInMetadata(identifier: .icyMetadataStreamTitle, text: "Other - Song")
        ])
        var both = head
        both.streamTitle = "Other - Song"
        try await listening.wait("metadata of the stream") { $0 == .metadata(item.id, both) }
      }
    }

    @Test func `Every byte is fetched once, and counted for its item`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item(seconds: 50)
        try await listening.start(item)
        try await eventually("counted") {
          listening.engine.statistics(of: item.id)?.bytesFromOrigin == 50_044
        }
        let cold = try #require(listening.engine.statistics(of: item.id))
        #expect(cold.bytesFromDisk == 0 && cold.bytesRead >= 50_044 && cold.requests > 0)
        let again = listening.item(seconds: 50)
        try await listening.start(again)
        let warm = try #require(listening.engine.statistics(of: again.id))
        // Bytes that the player reads twice count once.
        #expect(warm.bytesFromOrigin == 0 && warm.bytesFromDisk <= warm.bytesRead)
        #expect((1...50_044).contains(warm.bytesFromDisk))
        #expect(
          listening.engine.statistics(of: item.id)?.bytesFromOrigin == 50_044, "over a while ago")
        #expect(listening.engine.statistics(of: EngineItem.ID(rawValue: 99)) == nil)
        let log = try await listening.origin.wait(for: "/a.wav") { $0.running == 0 }
        #expect(log.bodyBytesSent == 50_044)
      }
    }
  }
#endif
