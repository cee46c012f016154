// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainAVFoundation

  /// A listener who skips from item to item.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2)))) struct SwitcherTests {
    private struct Left {
      weak var asset: AVURLAsset?
      weak var session: AssetSession?
      weak var delegate: AnyObject?
    }

    @Test func `Five hundred switches leave no asset, session or open file behind`() async throws {
      let seed = TestSeed.next()
      print("REFRAIN_SEED=\(seed) (impatient switcher)")
      try await withAssets(seed: seed) { test in
        for song in 0..<20 { test.serve(3_000_000, at: "/\(song).wav") }
        var random = SeededGenerator(seed: seed)
        var left: [Left] = []
        var logs: [AssetLog] = []
        for number in 0..<500 {
          let song = Int.random(in: 0..<20, using: &random)
          let player = test.player("/\(song).wav")
          let asset = try #require(player.asset)
          left.append(
            Left(
              asset: asset, session: ResourceLoader.session(of: asset),
              delegate: asset.resourceLoader.delegate))
          logs.append(player.log)
          let information = try player.request(.information())
          switch number % 5 {
          case 0: break
          case 1: await information.cancel()
          case 2:
            _ = try player.request(.toEnd(from: 0))
            await information.end()
          case 3:
            await information.end()
            let request = try player.request(.toEnd(from: 0))
            await request.received(Int64.random(in: 1...200_000, using: &random))
          default:
            await information.end()
            let request = try player.request(.toEnd(from: 1_500_000))
            await request.received(1)
            await request.cancel()
          }
        }
        try await eventually("\(left.count { $0.asset != nil }) assets are left") {
          left.allSatisfy { $0.asset == nil && $0.session == nil && $0.delegate == nil }
        }
        try await eventually("requests are unfinished") {
          logs.allSatisfy(\.unfinished.isEmpty)
        }
        for log in logs { #expect(log.violations == []) }
        // Entries are closed once they have no holder: readers, fetches and tasks count as holders.
        try await eventually("\(test.openDescriptors) files are open") { test.openDescriptors == 0 }
        for song in 0..<20 {
          _ = try await test.origin.wait(for: "/\(song).wav") { $0.running == 0 }
        }
        for entry in try await test.cache.entries() { #expect(!entry.isInUse) }
      }
    }
  }
#endif
