// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// Counts the responses of a proxy. May be used from any thread.
package final class Traffic: Sendable {
  package struct Values: Sendable, Hashable {
    /// By the order of `ServedRequest.Source.allCases`.
    package var requests = Array(repeating: Int64(0), count: ServedRequest.Source.allCases.count)
    package var sentBytes = Array(repeating: Int64(0), count: ServedRequest.Source.allCases.count)
    /// The sent bytes that were stored before their request came.
    package var savedBytes: Int64 = 0
    package var errors: Int64 = 0
    /// Those of relayed requests, which bypass the cache.
    package var relayedRequests: Int64 = 0
    package var relayedBytes: Int64 = 0
    /// In seconds, from the end of a request's head to the head of its response. Without the proxy's
    /// own responses.
    package var firstByte = Histogram(
      bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])

    /// The requests that were served without a body from the origin.
    package var hits: Int64 {
      let sources: [ServedRequest.Source] = [.hit, .revalidated, .stale]
      return sources.reduce(0) { $0 + requests[$1.index] }
    }
  }

  private let counts = Mutex(Values())
  private let bytesSent = Atomic<Int64>(0)

  package var values: Values { counts.withLock { $0 } }

  /// The bytes sent to clients so far, also of responses under way.
  package var sent: Int64 { bytesSent.load(ordering: .relaxed) }

  func noteSent(_ count: Int64) { bytesSent.add(count, ordering: .relaxed) }

  /// Parameters as `ProxyService.note`.
  func note(_ served: ServedRequest, firstByte: Double?) {
    counts.withLock { values in
      let index = served.source.index
      values.requests[index] += 1
      values.sentBytes[index] += served.bytesSent
      values.savedBytes += served.bytesFromCache
      if served.error != nil { values.errors += 1 }
      if let firstByte, served.source != .proxy { values.firstByte.note(firstByte) }
    }
  }

  func noteRelayedRequest() { counts.withLock { $0.relayedRequests += 1 } }

  func noteRelayed(_ bytes: Int) { counts.withLock { $0.relayedBytes += Int64(bytes) } }
}

extension ServedRequest.Source {
  /// In the order of declaration.
  package static let allCases: [Self] = [
    .hit, .revalidated, .partial, .miss, .relayed, .stale, .proxy,
  ]

  fileprivate var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Counts values in ranges of fixed bounds. A pure value.
package struct Histogram: Sendable, Hashable {
  /// The upper bounds of the ranges, included in them, in ascending order. Greater values are
  /// counted in one more range, without a bound.
  package let bounds: [Double]
  /// One for each bound, and one for the rest.
  package private(set) var counts: [Int64]
  package private(set) var sum = 0.0

  package init(bounds: [Double]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// Negative values and those that are not finite count as zero.
  package mutating func note(_ value: Double) {
    let value = value.isFinite ? max(0, value) : 0
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
    sum += value
  }

  package var count: Int64 { counts.reduce(0, +) }

  /// The counts of all values up to each bound, and then of all.
  package var cumulative: [Int64] {
    var total: Int64 = 0
    return counts.map { count in
      total += count
      return total
    }
  }
}
