// SPDX-License-Identifier: MIT

/// Which of the gains that media state in their tags are applied, so that all play equally loud.
public enum ReplayGain: String, Sendable, Hashable, CaseIterable {
  case off
  /// The gain of each track.
  case track
  /// The gain of the album, or that of the track if no album is stated: the differences within an
  /// album stay.
  case album

  /// The value of libmpv's option.
  var option: String { self == .off ? "no" : rawValue }
}
