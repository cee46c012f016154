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
    /// Relayed requests bypass the cache.
    package var relayedRequests: Int64 = 0
    package var relayedBytes: Int64 = 0
    /// The number and the sum of the times from the end of a request's head to its response's head.
    package var firstBytes: Int64 = 0
    package var firstByteSeconds = 0.0

    /// The requests that were served without a body from the origin.
    package var hits: Int64 {
      let sources: [ServedRequest.Source] = [.hit, .revalidated, .stale]
      return sources.reduce(0) { $0 + requests[$1.index] }
    }
  }

  private let counts = Mutex(Values())
  private let bytesSent = Atomic<Int64>(0)

  package var values: Values { counts.withLock { $0 } }

  /// Includes responses under way, unlike `values`.
  package var sent: Int64 { bytesSent.load(ordering: .relaxed) }

  func noteSent(_ count: Int64) { bytesSent.add(count, ordering: .relaxed) }

  func note(_ served: ServedRequest, firstByte: Double?) {
    counts.withLock { values in
      let index = served.source.index
      values.requests[index] += 1
      values.sentBytes[index] += served.bytesSent
      values.savedBytes += served.bytesFromCache
      if served.error != nil { values.errors += 1 }
      if let firstByte, served.source != .proxy {
        values.firstBytes += 1
        values.firstByteSeconds += firstByte
      }
    }
  }

  func noteRelayedRequest() { counts.withLock { $0.relayedRequests += 1 } }

  func noteRelayed(_ bytes: Int) { counts.withLock { $0.relayedBytes += Int64(bytes) } }
}

extension ServedRequest.Source {
  fileprivate var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
