// SPDX-License-Identifier: MIT

/// How a player goes on where the listener left media: the positions of media that last longer than
/// ten minutes are stored as they play, at most once in each second of them.
public struct Resumption: Sendable {
  public var positions: PlaybackPositions
  /// Whether items begin where they were left, unless a position is requested; otherwise they begin
  /// at their start. Positions are stored, and chosen tracks selected, in both cases.
  public var beginsWhereLeft = true
  /// Whether the volume that the listener set for a media is set again while it plays. It stays
  /// stored in both cases.
  public var restoresVolume = true

  public init(_ positions: PlaybackPositions) { self.positions = positions }
}
