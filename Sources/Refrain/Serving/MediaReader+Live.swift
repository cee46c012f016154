// SPDX-License-Identifier: MIT

/// Properties of a stream that a player needs before it offers to seek.
extension MediaReader {
  /// Whether the stream cannot be read again: a station's, or one of unknown length that is not
  /// stored and whose origin supports no ranges. False while nothing is known; may become true
  /// later, when storing ends.
  package var isPassing: Bool {
    generation.withState { state in
      guard !state.isLive else { return true }
      guard state.isTransient, let info = state.info else { return false }
      return info.length == nil && !info.supportsRanges
    }
  }

  /// Whether the length is known; nil while nothing is known.
  package var hasKnownLength: Bool? { knownInformation.map { $0.length != nil } }
}
