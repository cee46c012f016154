// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// What an entry's requests to the origin brought while it was open. A pure value.
struct EntryCounts: Sendable {
  fileprivate(set) var received: Int64 = 0
  fileprivate(set) var requests = 0
  /// Of the last response.
  fileprivate(set) var status: Int?
  /// Via and Cache-Status of the last response.
  fileprivate(set) var way = HeaderFields()
  /// When the last response came.
  fileprivate(set) var respondedAt = Date.distantPast
}

extension Entry {
  func countReceived(_ bytes: Int) {
    counts.withLock { $0.received += Int64(bytes) }
    context.counters.noteReceived(bytes)
    context.events.sendTraffic(.received(key, bytes))
  }

  func countRequest() {
    counts.withLock { $0.requests += 1 }
    context.counters.noteRequest()
  }

  /// Records the status of the origin's last response, and the way on which it came.
  func note(_ response: OriginExchange.Response) {
    let way = StoredFields.way(of: response.headers)
    counts.withLock { counts in
      counts.status = response.status
      counts.way = way
      counts.respondedAt = response.responseTime
    }
  }

  var lastStatus: Int? { counts.withLock { $0.status } }

  /// Returns Via and Cache-Status of the origin's last response; none if it came before that time.
  func way(since time: Date) -> HeaderFields {
    counts.withLock { $0.respondedAt >= time ? $0.way : HeaderFields() }
  }

  var traffic: (received: Int64, requests: Int) {
    counts.withLock { ($0.received, $0.requests) }
  }
}

/// Counts the work of a cache since it was opened. May be used from any thread.
final class CacheCounters: Sendable {
  private let requests = Atomic<Int64>(0)
  private let received = Atomic<Int64>(0)
  private let evictions = Atomic<Int64>(0)
  private let evicted = Atomic<Int64>(0)

  func noteRequest() { requests.add(1, ordering: .relaxed) }

  func noteReceived(_ bytes: Int) { received.add(Int64(bytes), ordering: .relaxed) }

  func noteEvicted(_ bytes: Int64) {
    evictions.add(1, ordering: .relaxed)
    evicted.add(bytes, ordering: .relaxed)
  }

  var originRequests: Int64 { requests.load(ordering: .relaxed) }
  var originBytes: Int64 { received.load(ordering: .relaxed) }
  var evictionCount: Int64 { evictions.load(ordering: .relaxed) }
  var evictedBytes: Int64 { evicted.load(ordering: .relaxed) }
}
