// SPDX-License-Identifier: MIT

/// The state of a player to keep over a restart: the queue and the position. It contains the
/// headers of its media and thus tokens: store it where secrets may be stored.
public struct PlayerSession: Sendable, Hashable, Codable {
  public var queue: PlayQueue
  /// The position in the current item, in seconds.
  public var position: Double
  public var rate: Double
  public var volume: Double
  public var isMuted: Bool
  /// The sound track that the listener selected in the current item; nil: none was selected.
  public var audio: TrackChoice?
  /// The subtitle that the listener selected in the current item, or `.off`; nil: none was selected.
  public var subtitle: TrackChoice?

  public init(
    queue: PlayQueue, position: Double = 0, rate: Double = 1, volume: Double = 1,
    isMuted: Bool = false, audio: TrackChoice? = nil, subtitle: TrackChoice? = nil
  ) {
    self.queue = queue
    self.position = position
    self.rate = rate
    self.volume = volume
    self.isMuted = isMuted
    self.audio = audio
    self.subtitle = subtitle
  }
}
