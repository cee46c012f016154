// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Decides which failures of retried requests are worth a line: an unchanged reason is reported
/// once, until bytes come.
final class RetryReports: Sendable {
  private let last = Mutex<[CacheKey: String]>([:])

  /// Returns whether the reason is new.
  func note(_ key: CacheKey, _ error: MediaCacheError) -> Bool {
    last.withLock { $0.updateValue(error.reason, forKey: key) != error.reason }
  }

  /// Forgets the reason after a request succeeded.
  func forget(_ key: CacheKey) { last.withLock { $0[key] = nil } }

  /// `refrain: https://h/a.flac: h refused the connection. The request is retried.`
  static func line(_ url: URL, _ error: MediaCacheError) -> String {
    let address = url.withoutUserInfo.absoluteString
    let reason = error.reason.contains(address) ? error.reason : "\(address): \(error.reason)"
    return "refrain: \(printable("\(reason) The request is retried."))"
  }
}

extension MediaCache {
  /// A request that failed and is sent again.
  struct Retry: Sendable {
    var key: CacheKey
    var error: MediaCacheError
    var delay: Duration
    /// Whether the reason differs from that of the previous failure.
    var isNews: Bool
  }

  /// Calls `report` for each request that failed and is sent again, while `work` runs.
  ///
  /// - Parameters:
  ///   - events: those of this cache, without traffic; nil: from now on.
  ///   - evicted: called with the bytes freed by each removed or shortened entry.
  func reportingRetries(
    in events: AsyncStream<CacheEvent>? = nil,
    isolation: isolated (any Actor)? = #isolation,
    to report: @escaping @Sendable (Retry) async -> Void,
    evicted: @escaping @Sendable (Int64) -> Void = { _ in }, during work: () async throws -> Void
  ) async throws {
    let events = events ?? self.events(includingTraffic: false)
    let task = Task {
      let reports = RetryReports()
      for await event in events {
        switch event {
        case .retrying(let key, let error, let delay):
          let isNews = reports.note(key, error)
          await report(Retry(key: key, error: error, delay: delay, isNews: isNews))
        case .fetchFinished(let key, _, nil): reports.forget(key)
        case .evicted(_, let bytes): evicted(bytes)
        default: break
        }
      }
    }
    defer { task.cancel() }
    try await work()
  }
}
