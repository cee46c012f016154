// SPDX-License-Identifier: MIT
import NIOCore
import Refrain
import Synchronization

/// What was found not to be cacheable lately: it is passed on without trying again each time.
final class UncacheableKeys: Sendable {
  private static let capacity = 4096
  private static let patience = TimeAmount.seconds(120)

  private let keys = Mutex<[CacheKey: NIODeadline]>([:])

  func insert(_ key: CacheKey) {
    let now = NIODeadline.now()
    keys.withLock { keys in
      if keys.count >= Self.capacity { keys = keys.filter { $0.value > now } }
      if keys.count >= Self.capacity { keys = [:] }
      keys[key] = now + Self.patience
    }
  }

  func contains(_ key: CacheKey) -> Bool {
    keys.withLock { keys in
      guard let until = keys[key] else { return false }
      if until > .now() { return true }
      keys[key] = nil
      return false
    }
  }
}
