// SPDX-License-Identifier: MIT
import Refrain
import RefrainStreams

extension ResourcePolicy {
  /// That of the caches of these tests.
  static let ofTests = ResourcePolicy.streams
}
