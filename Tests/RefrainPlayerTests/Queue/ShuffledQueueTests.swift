// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainPlayer

/// What is random in a shuffled queue. `QueueModelTests` states everything else of queues.
@Suite struct ShuffledQueueTests {
  private let letters = "abcdefghijklmnopqrstuvwxyz"

  @Test func `The seed determines the shuffled order`() {
    let orders = (0..<20 as Range<UInt64>).map {
      PlayQueue.of(letters, shuffled: true, seed: $0).orderNames
    }
    #expect(Set(orders).count == 20 && !orders.contains(letters))
    #expect(PlayQueue.of(letters, shuffled: true, seed: 4).orderNames == orders[4])
  }

  @Test func `Turning shuffle off and on yields another order`() {
    var queue = PlayQueue.of(letters, shuffled: true)
    let first = queue.orderNames
    queue.setShuffled(true)
    #expect(queue.orderNames == first)
    queue.setShuffled(false)
    queue.setShuffled(true)
    #expect(queue.orderNames != first)
  }

  /// - Parameter played: the items played before, of which a round has eight.
  @Test(arguments: [3, 11])
  func `Added items play at random places among the unplayed ones`(_ played: Int) {
    var places: Set<Int> = []
    for seed in 0..<200 as Range<UInt64> {
      var queue = PlayQueue.of("abcdefgh", repeating: .all, shuffled: true, seed: seed)
      for _ in 0..<played { queue.advance(.ended) }
      queue.append("123".media)
      let after = Array(queue.orderNames)
      places.formUnion(after.indices.filter { after[$0].isNumber })
    }
    #expect(places == Set(4...10))
  }

  @Test func `The orders of the rounds vary`() throws {
    for seed in 0..<200 as Range<UInt64> {
      var queue = PlayQueue.of("abcd", repeating: .all, shuffled: true, seed: seed)
      var rounds: Set<String> = []
      for _ in 0..<6 {
        rounds.insert(queue.orderNames)
        for _ in 0..<4 { queue.advance(.ended) }
      }
      #expect(rounds.count > 1)
    }
  }
}
