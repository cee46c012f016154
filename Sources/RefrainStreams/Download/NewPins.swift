// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// The entries that a download has pinned, without those that were pinned before.
final class NewPins: Sendable {
  struct Pin: Sendable, Hashable {
    var key: CacheKey
    /// Whether something was stored under the key before.
    var wasStored: Bool
  }

  private let pins = Mutex<[Pin]>([])

  func insert(_ pin: Pin) { pins.withLock { $0.append(pin) } }

  /// Returns the pins, the latest first, and forgets them.
  func takeAll() -> [Pin] {
    pins.withLock { pins in
      defer { pins = [] }
      return pins.reversed()
    }
  }
}
