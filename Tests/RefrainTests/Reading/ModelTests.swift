// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Random readers over a random origin, against a model of the allowed bytes: those of one version
/// that the origin has had.
@Suite(.timeLimit(.minutes(TestSeed.minutes(3)))) struct ModelTests {
  @Test func `Random operations under faults never return wrong bytes or hang`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (model with faults)")
    for round in 0..<(TestSeed.isSoak ? 150 : 4) {
      let model = try await ModelRun(seed: seed &+ UInt64(round), hasFaults: true)
      try await model.run(lives: 3, steps: 40)
    }
  }

  @Test func `Without faults the origin sends each byte once`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (model without faults)")
    for round in 0..<(TestSeed.isSoak ? 75 : 3) {
      let model = try await ModelRun(seed: seed &+ UInt64(round), hasFaults: false)
      try await model.run(lives: 2, steps: 40)
    }
  }
}
