// SPDX-License-Identifier: MIT

/// Where answers that can only be read from their start ended too early, so often that it was an error.
struct LastCut: Sendable, Hashable {
  var position: Int64
  /// How often in a row.
  var count: Int

  /// How often an answer was cut there, for a fetch that begins at `offset`: that who asks again does
  /// not have it all tried as often as before.
  func count(at offset: Int64) -> Int {
    offset > position && Self.isProgress(offset - position, at: offset) ? 0 : count
  }

  /// A twentieth of what has to be read again is progress, and a few bytes more are none.
  static func isProgress(_ gained: Int64, at position: Int64) -> Bool { gained * 20 >= position }
}
