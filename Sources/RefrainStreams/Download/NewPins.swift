// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// The entries that a download has pinned, without those that were pinned before.
final class NewPins: Sendable {
  private let keys = Mutex<[CacheKey]>([])

  func insert(_ key: CacheKey) { keys.withLock { $0.append(key) } }

  /// Returns the keys, the latest first, and forgets them.
  func takeAll() -> [CacheKey] {
    keys.withLock { keys in
      defer { keys = [] }
      return keys.reversed()
    }
  }
}
