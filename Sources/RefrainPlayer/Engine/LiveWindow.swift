// SPDX-License-Identifier: MIT

/// The part of a live stream that is kept, and can be sought in. Positions count from the first
/// sound that was received.
public struct LiveWindow: Sendable, Hashable, Codable {
  /// The earliest position that can be played.
  public var start: Duration
  /// The position of the newest sound.
  public var end: Duration
  /// The distance from the newest sound at which live playback goes on: a player needs some sound
  /// ahead to start.
  public var lead: Duration

  /// - Parameters:
  ///   - start: see `start`.
  ///   - end: see `end`; at least `start`.
  ///   - lead: see `lead`; for a stream of segments, three of their durations.
  public init(start: Duration, end: Duration, lead: Duration = Self.lead) {
    self.start = start
    self.end = max(start, end)
    self.lead = lead
  }

  /// The lead of a stream that is not made of segments.
  public static let lead = Duration.seconds(5)

  /// The position to which `Player.seekToLive()` leads.
  public var live: Duration { max(start, end - lead) }

  /// Returns how far a position is behind the newest sound; nil: it is at the present. Live playback
  /// is at least `lead` behind, and more until the next segment arrives: without a choice of the
  /// listener, less than ten seconds beyond `lead` are the present, otherwise less than two.
  ///
  /// - Parameters:
  ///   - position: in the kept part.
  ///   - hasLeftLive: whether the listener left the present (`PlayerState.hasLeftLive`).
  public func distance(of position: Duration, hasLeftLive: Bool = false) -> Duration? {
    let behind = end - position
    return behind >= lead + .seconds(hasLeftLive ? 2 : 10) ? behind : nil
  }

  /// Returns the position nearest to `position` that can be played.
  func nearest(to position: Duration) -> Duration { min(max(position, start), live) }
}
