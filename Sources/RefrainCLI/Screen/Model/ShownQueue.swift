// SPDX-License-Identifier: MIT
import RefrainPlayer

/// Whether the rows of a screen still show the queue: thousands of rows are not built again for each
/// picture. A pure value.
struct ShownQueue: Sendable {
  private var queue: PlayQueue?
  private var version = 0

  /// Returns whether the rows differ from those of the last call, and counts them as shown.
  mutating func isNews(_ state: PlayerState, _ known: KnownItems) -> Bool {
    // Values that share their storage are compared at once.
    guard queue != state.queue || version != known.version else { return false }
    (queue, version) = (state.queue, known.version)
    return true
  }
}
