// SPDX-License-Identifier: MIT

/// The position at which responses that can only be read from their start ended too early, so often
/// that it was an error.
struct LastCut: Sendable, Hashable {
  var position: Int64
  /// The number of cuts in a row.
  var count: Int

  /// Returns how often a response was cut there, for a fetch that begins at `offset`: a reader that
  /// asks again does not cause the full number of attempts again.
  func count(at offset: Int64) -> Int {
    offset > position && Self.isProgress(offset - position, at: offset) ? 0 : count
  }

  /// Whether the gain is progress: a twentieth of the bytes to be read again is; a few bytes are
  /// not.
  static func isProgress(_ gained: Int64, at position: Int64) -> Bool { gained * 20 >= position }
}
