// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain
@testable import RefrainStreams

/// How much of a stream's parts is stored.
@Suite(.timeLimit(.minutes(1))) struct StoredAmountTests {
  /// The last reader has just left: its entry is being closed, and its record written.
  @Test func `What was stored a moment ago counts`() async throws {
    try await withCache { test in
      let length: Int64 = 5000
      let (clients, rounds) = (8, 20)
      for client in 0..<clients {
        for round in 0..<rounds {
          test.origin.serve(
            .synthetic(seed: UInt64(round), length: length), at: "/\(client)-\(round)")
        }
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<clients {
          group.addTask {
            for round in 0..<rounds {
              let url = test.origin.url("/\(client)-\(round)")
              try await test.cache.prefetch(url)
              let part = StreamPlan.Part(url: url)
              let amounts = try await test.cache.storedAmounts(of: [part, part])
              #expect(amounts.map(\.bytes) == [length, length])
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }
}
