// SPDX-License-Identifier: MIT
import RefrainLocks

/// What an entry's requests to the origin brought while it was open. A pure value.
struct EntryCounts: Sendable {
  fileprivate(set) var received: Int64 = 0
  fileprivate(set) var requests = 0
  /// Of the last response.
  fileprivate(set) var status: Int?
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

  /// Records the status of the origin's last response.
  func noteStatus(_ status: Int) { counts.withLock { $0.status = status } }

  var lastStatus: Int? { counts.withLock { $0.status } }

  var traffic: (received: Int64, requests: Int) {
    counts.withLock { ($0.received, $0.requests) }
  }
}
