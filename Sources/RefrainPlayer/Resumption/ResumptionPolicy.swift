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
