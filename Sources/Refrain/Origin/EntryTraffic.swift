// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// What an entry's requests to the origin brought while it was open. May be used from any thread.
final class EntryTraffic: Sendable {
  private struct State {
    var received: Int64 = 0
    var requests = 0
    var status: Int?
    var way = HeaderFields()
    var respondedAt = Date.distantPast
  }

  private let key: CacheKey
  private let counters: CacheCounters
  private let events: EventStreams
  private let state = Mutex(State())

  /// - Parameter counters: those of the whole cache.
  init(of key: CacheKey, counters: CacheCounters, events: EventStreams) {
    (self.key, self.counters, self.events) = (key, counters, events)
  }

  func countReceived(_ bytes: Int) {
    state.withLock { $0.received += Int64(bytes) }
    counters.originBytes.add(Int64(bytes), ordering: .relaxed)
    events.sendTraffic(.received(key, bytes))
  }

  func countRequest() {
    state.withLock { $0.requests += 1 }
    counters.originRequests.add(1, ordering: .relaxed)
  }

  /// Records the status of the origin's last response, and the way on which it came.
  func note(status: Int, _ headers: HeaderFields, at time: Date) {
    let way = StoredFields.way(of: headers)
    state.withLock { state in
      (state.status, state.way, state.respondedAt) = (status, way, time)
    }
  }

  /// The status of the last response.
  var lastStatus: Int? { state.withLock { $0.status } }

  /// Returns Via and Cache-Status of the origin's last response; none if it came before that time.
  func way(since time: Date) -> HeaderFields {
    state.withLock { $0.respondedAt >= time ? $0.way : HeaderFields() }
  }

  var sums: (received: Int64, requests: Int) {
    state.withLock { ($0.received, $0.requests) }
  }
}

/// Counts the work of a cache since it was opened. May be used from any thread.
final class CacheCounters: Sendable {
  let originRequests = Atomic<Int64>(0)
  let originBytes = Atomic<Int64>(0)
  let evictions = Atomic<Int64>(0)
  let evictedBytes = Atomic<Int64>(0)

  func noteEvicted(_ bytes: Int64) {
    evictions.add(1, ordering: .relaxed)
    evictedBytes.add(bytes, ordering: .relaxed)
  }
}
