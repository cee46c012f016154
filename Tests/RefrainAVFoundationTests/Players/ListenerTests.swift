// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  /// A listener who drags the scrubber about.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(4)))) struct ListenerTests {
    /// Random seeks, cancels and repetitions over one resource.
    struct Listener {
      let test: AssetTest
      let length: Int64
      var random: SeededGenerator
      var player: CheckedPlayer
      var players: [CheckedPlayer] = []
      var open: [PlayerRequest] = []

      init(_ test: AssetTest, length: Int64, seed: UInt64) {
        self.test = test
        self.length = length
        random = SeededGenerator(seed: seed)
        player = test.player()
      }

      mutating func run(steps: Int) async throws {
        try await player.ask()
        for _ in 0..<steps { try await step() }
        for request in open { await request.cancel() }
        players.append(player)
      }

      private mutating func step() async throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<35: open.append(try player.request(wish()))
        case 35..<60: await cancelOne()
        case 60..<75:
          // AVFoundation requests again the bytes whose request it has just cancelled.
          guard let last = open.last?.wish else { return }
          await cancelOne()
          open.append(try player.request(last))
        case 75..<97:
          guard let request = open.randomElement(using: &random) else { return }
          await request.received(Int64.random(in: 1...40_000, using: &random))
        default:
          // The same item, played again.
          players.append(player)
          open = []
          player = test.player()
          try await player.ask()
        }
        if open.count > 4 { await cancelOne() }
      }

      private mutating func wish() -> Wish {
        let offset = Int64.random(in: 0..<length, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return .toEnd(from: offset)
        case 1: return .toEnd(from: offset, length: Int(length - offset))
        case 2: return .bytes(Int.random(in: 1...3000, using: &random), at: offset)
        default: return .bytes(Int.random(in: 1...300_000, using: &random), at: offset)
        }
      }

      private mutating func cancelOne() async {
        guard !open.isEmpty else { return }
        let index = Int.random(in: 0..<open.count, using: &random)
        await open.remove(at: index).cancel()
      }
    }

    @Test
    func `Ten thousand random steps receive correct bytes, almost none twice`() async throws {
      let seed = TestSeed.next()
      print("REFRAIN_SEED=\(seed) (seeking listener)")
      let length: Int64 = 16_000_000
      try await withAssets(seed: seed) { test in
        test.serve(length)
        // Counts the bytes received for all players.
        let counter = try await test.cache.open(test.resource())
        // Two players of one URL.
        try await withThrowingTaskGroup(of: [CheckedPlayer].self) { group in
          for player in 0..<2 as Range<UInt64> {
            group.addTask {
              var listener = Listener(test, length: length, seed: seed &+ player)
              try await listener.run(steps: TestSeed.isSoak ? 50_000 : 2_000)
              return listener.players
            }
          }
          for try await players in group {
            for player in players {
              // Requests that a leaving player abandons end with an error.
              player.leave()
              try await eventually("unfinished") { player.log.unfinished.isEmpty }
              player.check()
            }
          }
        }
        let log = try await test.origin.wait(for: "/song.wav") { $0.running == 0 }
        let bytes = counter.statistics.bytesFromOrigin
        print(
          "received \(bytes) of \(length), sent \(log.bodyBytesSent), twice \(log.bytesSentTwice), \(log.requests.count) requests"
        )
        // Where one request takes over from another, part of a chunk comes twice.
        #expect(bytes <= length + Int64(log.requests.count) * 4096)
      }
    }
  }
#endif
