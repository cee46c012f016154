// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The origins that could not be reached a moment ago. While they cannot, stored bytes play without
/// waiting for them each time.
///
/// All methods may be called from any thread.
final class SilentOrigins: Sendable {
  private static let capacity = 256

  private let noted = Mutex<[[String]: Uptime]>([:])

  func note(_ url: URL, at now: Moment) {
    noted.withLock { noted in
      // What is forgotten is asked again.
      if noted.count >= Self.capacity { noted = [:] }
      noted[RedirectPolicy.origin(of: url)] = now.uptime
    }
  }

  func isSilent(_ url: URL, at now: Moment) -> Bool {
    noted.withLock { noted in
      guard !noted.isEmpty, let since = noted[RedirectPolicy.origin(of: url)],
        let elapsed = now.uptime.seconds(since: since)
      else { return false }
      return elapsed < GenerationState.joinSeconds
    }
  }

  func forgetAll() { noted.withLock { $0 = [:] } }
}
