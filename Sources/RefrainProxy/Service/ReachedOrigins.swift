// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Whether origins could be reached a moment ago, as the requests for manifests have shown.
final class ReachedOrigins: Sendable {
  private struct Attempt {
    var isReached: Bool
    var time: Uptime
  }

  private static let capacity = 256
  /// After so many seconds, an attempt shows nothing any more.
  private static let patience: Double = 10

  private let attempts = Mutex<[WebOrigin: Attempt]>([:])

  func note(_ url: URL, isReached: Bool, at now: Uptime) {
    guard let origin = WebOrigin(url) else { return }
    attempts.withLock { attempts in
      // An origin that is forgotten is asked again.
      if attempts.count >= Self.capacity, attempts[origin] == nil { attempts = [:] }
      attempts[origin] = Attempt(isReached: isReached, time: now)
    }
  }

  /// Whether the last attempt has reached the origin of a URL; nil if there was none lately.
  func isReached(_ url: URL, at now: Uptime) -> Bool? {
    guard let origin = WebOrigin(url) else { return nil }
    return attempts.withLock { attempts in
      guard let attempt = attempts[origin], let elapsed = now.seconds(since: attempt.time),
        elapsed < Self.patience
      else { return nil }
      return attempt.isReached
    }
  }
}
