// SPDX-License-Identifier: MIT
import NIOCore
import Refrain
import Synchronization

/// What was found not to be cacheable lately: it is passed on without trying again each time.
final class UncacheableKeys: Sendable {
  private static let capacity = 4096
  private static let patience = TimeAmount.seconds(120)

  enum Reason: Sendable {
    /// The origin forbids to store it.
    case notStorable
    /// The origin sends it in a content coding, of which no ranges are asked.
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

  /// Why a key is not cacheable; nil where that is not known of it.
  func reason(_ key: CacheKey) -> Reason? {
    keys.withLock { keys in
      guard let (until, reason) = keys[key] else { return nil }
      if until > .now() { return reason }
      keys[key] = nil
      return nil
    }
  }
}
