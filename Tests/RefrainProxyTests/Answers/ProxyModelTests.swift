// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Random clients of a proxy that is restarted again and again on one directory, checked against
/// the origin's bytes.
@Suite(.timeLimit(.minutes(TestSeed.minutes(3)))) struct ProxyModelTests {
  @Test func `Every byte is correct despite random clients and origin faults`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (proxy model with faults)")
    for round in 0..<(TestSeed.isSoak ? 100 : 1) as Range<UInt64> {
      try await ProxyModelRun(seed: seed &+ round, hasFaults: true).run(lives: 3)
    }
  }

  @Test func `The origin sends each byte once if there are no faults`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (proxy model without faults)")
    for round in 0..<(TestSeed.isSoak ? 50 : 1) as Range<UInt64> {
      try await ProxyModelRun(seed: seed &+ round, hasFaults: false).run(lives: 3)
    }
  }
}
