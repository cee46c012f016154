// SPDX-License-Identifier: MIT

/// The error of a response that was cut short, for a reader that was receiving its last bytes at that
/// moment, and did not wait for more; or of a refusal, for a reader for which the resource was being
/// filled, and which had not asked yet.
struct MissedCut: Sendable {
  /// Where the response ended; 0 for a refusal.
  var position: Int64
  var error: MediaCacheError
}

/// Without these errors, such a reader would have the response read again from its start. Where each
/// one ends a few bytes further on, it would do so again and again.
extension GenerationState {
  /// Keeps the error of a fetch for the readers that are about to wait for its next byte.
  ///
  /// - Parameter waiting: the readers that received the error, or wait for other bytes.
  mutating func keepCut(
    _ error: MediaCacheError, of fetch: RunningFetch, except waiting: Set<ReaderID>
  ) {
    if info == nil { return keepRefusal(error) }
    // A range begins where the response ended.
    guard error.retry == .cutShort, comesWhole else { return }
    let position = fetch.position
    for (id, reader) in readers where !waiting.contains(id) {
      // A prefetch reads from its first question about the resource on.
      guard reader.isActive, reader.isReading || reader.isBackground, !reader.awaitsConfirmation,
        reader.position <= position, position < reader.end
      else { continue }
      // A player that arrives later may find the origin repaired.
      let isNear = !LastCut.isProgress(position - reader.position, at: position)
      guard reader.isBackground || isNear else { continue }
      readers[id]?.missedCut = MissedCut(position: position, error: error)
    }
  }

  /// Keeps the origin's refusal of a resource of which nothing is known. The filling has asked for its
  /// reader, on a busy machine before the reader does: the resource is not requested again.
  private mutating func keepRefusal(_ error: MediaCacheError) {
    guard error.status != nil else { return }
    for (id, reader) in readers where reader.fillsWhole && !reader.isActive {
      readers[id]?.missedCut = MissedCut(position: 0, error: error)
    }
  }

  /// Returns the error that a reader missed, once, if it would now wait for bytes after the cut.
  mutating func takeMissedCut(by waiter: Waiter) -> MediaCacheError? {
    guard let cut = readers[waiter.reader]?.missedCut else { return nil }
    let offset = waiter.offset ?? 0
    readers[waiter.reader]?.missedCut = nil
    let comes = fetches.values.contains { $0.bringsBytes && $0.ahead.contains(offset) }
    return offset >= cut.position && !comes ? cut.error : nil
  }
}

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
