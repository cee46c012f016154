// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Random clients of a proxy that is restarted again and again on one directory, checked against
/// the origin's bytes.
@Suite(.serialized, .timeLimit(.minutes(TestSeed.minutes(3)))) struct ProxyModelTests {
  @Test func `Every byte is right, whatever the origin and the clients do`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (proxy model with faults)")
    for round in 0..<(TestSeed.isSoak ? 100 : 2) as Range<UInt64> {
      try await ProxyModelRun(seed: seed &+ round, hasFaults: true).run(lives: 3)
    }
  }

  @Test func `Without faults the origin sends each byte once`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (proxy model without faults)")
    for round in 0..<(TestSeed.isSoak ? 50 : 2) as Range<UInt64> {
      try await ProxyModelRun(seed: seed &+ round, hasFaults: false).run(lives: 3)
    }
  }
}
