// SPDX-License-Identifier: MIT
import Refrain

extension ResourcePolicy {
  /// That of the caches of these tests.
  static let ofTests = ResourcePolicy()
}
