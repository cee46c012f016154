// SPDX-License-Identifier: MIT

/// Which positions are kept, and which are forgotten. A pure value.
public struct ResumptionPolicy: Sendable, Hashable {
  /// Positions are kept only for media longer than this.
  public var shortest = Duration.seconds(600)
  /// The time before the end in which media count as watched to the end; or the part of their
  /// duration, from 0 to 1, if that is longer.
  public var ending = Duration.seconds(30)
  public var endingPart = 0.02
  /// The time from the start in which media count as not begun.
  public var beginning = Duration.seconds(1)
  /// The number of positions kept; of more, the oldest are forgotten. A negative number counts as
  /// zero.
  public var capacity = 1000

  public init() {}

  /// Whether a position of media with this duration is kept; otherwise, it is forgotten.
  public func keeps(_ position: Duration, of duration: Duration) -> Bool {
    guard duration > shortest, position >= beginning else { return false }
    let part = Duration.seconds(duration.inSeconds * min(max(0, endingPart), 1))
    return position < duration - max(ending, part)
  }
}

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
