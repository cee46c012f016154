// SPDX-License-Identifier: MIT

/// What is worth keeping of a player over a restart: the queue, and where it was. Headers of media are
/// in it, and with them tokens: to be kept where secrets may be kept.
public struct PlayerSession: Sendable, Hashable, Codable {
  public var queue: PlayQueue
  /// In the current item, in seconds.
  public var position: Double
  public var rate: Double
  public var volume: Double
  public var isMuted: Bool

  public init(
    queue: PlayQueue, position: Double = 0, rate: Double = 1, volume: Double = 1,
    isMuted: Bool = false
  ) {
    self.queue = queue
    self.position = position
    self.rate = rate
    self.volume = volume
    self.isMuted = isMuted
  }
}
