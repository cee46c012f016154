// SPDX-License-Identifier: MIT

/// What a player has to know of a stream before it offers to seek in it.
extension MediaReader {
  /// Whether the stream passes by: a station's, or one of unknown length that is not kept and of which
  /// no part can be asked for. What was read of it cannot be read again. False while nothing is known;
  /// it may become true later, where storing ends.
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
