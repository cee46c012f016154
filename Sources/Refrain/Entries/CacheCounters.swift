// SPDX-License-Identifier: MIT
import RefrainLocks

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
