// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct IdleHoldTests {
  /// Holds an entry without a reader until it is asked to release it.
  private final class Holder: Sendable {
    private let held: Mutex<EntryLease?>
    private let asked = Atomic(0)

    init(_ held: EntryLease?) { self.held = Mutex(held) }

    var wasAsked: Bool { asked.load(ordering: .relaxed) > 0 }

    func release() -> Bool {
      asked.add(1, ordering: .relaxed)
      let dropped = held.withLock { $0.take() }
      return dropped != nil
    }
  }

  @Test func `Idle leases are released when room is needed`() async throws {
    try await withCache({ $0.limit = 3 << 20 }) { test in
      let length: Int64 = 2 << 20
      for index in 0..<2 as Range<UInt64> {
        test.origin.serve(.synthetic(seed: index, length: length), at: "/\(index)")
      }
      let reader = try await test.reader("/0")
      for try await _ in reader.chunks() {}
      let holder = Holder(test.cache.hold(reader))
      let hold = test.cache.releaseIdleLeases { holder.release() }
      reader.cancel()
      #expect(!holder.wasAsked)
      #expect(try await test.read("/1") == SyntheticBytes(seed: 1).bytes(in: 0..<length))
      #expect(holder.wasAsked)
      #expect(!holder.release())
      test.cache.forgetIdleLeases(hold)
    }
  }
}
