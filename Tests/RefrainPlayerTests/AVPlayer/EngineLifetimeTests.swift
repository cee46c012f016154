// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import RefrainAVFoundation
  import Testing
  import TestSupport

  @testable import RefrainPlayer

  @MainActor @Suite(.timeLimit(.minutes(TestSeed.minutes(4)))) struct EngineLifetimeTests {
    private struct Left {
      weak var item: AVPlayerItem?
      weak var asset: AVAsset?
      weak var delegate: AnyObject?

      @MainActor init(_ item: AVPlayerItem?) {
        self.item = item
        asset = item?.asset
        delegate = (item?.asset as? AVURLAsset)?.resourceLoader.delegate
      }

      var isGone: Bool { item == nil && asset == nil && delegate == nil }
    }

    @Test func `Two hundred loads leave no item, request or reader behind`() async throws {
      let seed = TestSeed.next()
      print("REFRAIN_SEED=\(seed) (hasty listener)")
      try await AppleListening.with { listening in
        var random = SeededGenerator(seed: seed)
        var left: [Left] = []
        var logs: [AssetLog] = []
        for number in 0..<200 {
          let item = listening.item("/\(number % 20).wav", seconds: 100)
          listening.engine.load(item, at: .seconds(number % 7 * 10), isPaused: number % 3 == 0)
          if number % 4 == 0 { listening.engine.follow(with: listening.item("/f.wav")) }
          for playing in listening.engine.player.items() {
            left.append(Left(playing))
            if let asset = playing.asset as? AVURLAsset {
              logs.append(asset.resourceLoader.standInLog)
            }
          }
          if number % 5 == 0 { listening.engine.seek(to: .seconds(50), serial: number) }
          switch Int.random(in: 0..<10, using: &random) {
          case 0: try await listening.waitForReady(item)
          case 1...4: await listening.pass(Double.random(in: 0...3, using: &random))
          default: break
          }
        }
        listening.engine.stop()
        try await eventually("\(left.count { !$0.isGone }) items are left") {
          left.allSatisfy(\.isGone)
        }
        try await eventually("requests are unfinished") { logs.allSatisfy(\.unfinished.isEmpty) }
        for log in logs { #expect(log.violations == []) }
        try await eventually("readers are left") {
          try await listening.cache.entries().allSatisfy { !$0.isInUse }
        }
      }
    }

    @Test func `A released engine releases its player and items`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item()
        var engine: AVPlayerEngine? = AVPlayerEngine(cache: listening.cache, audio: nil)
        weak let weakEngine = engine
        weak let player = engine?.player
        engine?.load(item, at: .zero, isPaused: false)
        engine?.follow(with: listening.item("/b.wav"))
        let left = engine?.player.items().map { Left($0) } ?? []
        #expect(left.count == 2)
        try await eventually("it plays") { engine?.player.timeControlStatus == .playing }
        engine = nil
        try await eventually("all is let go") {
          weakEngine == nil && player == nil && left.allSatisfy(\.isGone)
        }
      }
    }

    @Test func `A closed engine holds no item and reports no event`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item()
        try await listening.start(item)
        let left = Left(listening.engine.player.currentItem)
        await listening.engine.close()
        listening.forget()
        try await eventually("it is let go") { left.isGone }
        #expect(listening.engine.player.standInTimeObserverCount == 0)
        #expect(listening.engine.player.standInObservationCount == 0)
        listening.engine.load(listening.item(), at: .zero, isPaused: false)
        listening.engine.play()
        listening.engine.follow(with: item)
        listening.engine.seek(to: .zero, serial: 1)
        await listening.engine.close()
        await listening.pass(3)
        #expect(listening.events.isEmpty && listening.engine.player.items().isEmpty)
      }
    }
  }
#endif
