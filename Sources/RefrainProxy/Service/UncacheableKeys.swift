// SPDX-License-Identifier: MIT
import NIOCore
import Refrain
import RefrainLocks

/// Keys recently found not to be cacheable: their requests are relayed without another attempt.
final class UncacheableKeys: Sendable {
  private static let capacity = 4096
  private static let patience = TimeAmount.seconds(120)

  enum Reason: Sendable {
    /// The origin forbids storing the response.
    case notStorable
    /// The origin sends a content coding, of which no ranges are requested.
    case encoded
  }

  private let keys = Mutex<[CacheKey: (until: NIODeadline, reason: Reason)]>([:])

  func insert(_ key: CacheKey, _ reason: Reason) {
    let now = NIODeadline.now()
    keys.withLock { keys in
      if keys.count >= Self.capacity { keys = keys.filter { $0.value.until > now } }
      if keys.count >= Self.capacity { keys = [:] }
      keys[key] = (now + Self.patience, reason)
    }
  }

  /// Returns why a key is not cacheable; nil if that is not known.
  func reason(_ key: CacheKey) -> Reason? {
    keys.withLock { keys in
      guard let (until, reason) = keys[key] else { return nil }
      if until > .now() { return reason }
      keys[key] = nil
      return nil
    }
  }
}
