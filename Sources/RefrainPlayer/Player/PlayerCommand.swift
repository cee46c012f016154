// SPDX-License-Identifier: MIT

/// What a listener, or the passing of time, asks of a player.
enum PlayerCommand: Sendable, Hashable {
  /// From a position of the first one.
  case play([Media], startingAt: Int, from: Duration)
  case enqueue([Media])
  case insertNext([Media])
  case insert([Media], at: Int)
  case remove(PlayQueue.Item.ID)
  case move(PlayQueue.Item.ID, to: Int)
  case removeAll
  case jump(PlayQueue.Item.ID)
  case next
  case previous
  case resume
  case pause
  case stop
  case seek(Duration)
  case skip(Duration)
  /// Seeks to what is stored nearest to a position.
  case scrub(Duration)
  case setRate(Double)
  case setVolume(Double)
  case setMuted(Bool)
  case setRepeatMode(PlayQueue.RepeatMode)
  case setShuffled(Bool)
  case setSleepTimer(SleepTimer?)
  case restore(PlayerSession)
  /// The sleep timer has run out.
  case fallAsleep
  /// What could not be reached is tried again.
  case retry

  /// Whether a listener chose what to play by it, so that earlier failures do not count any more.
  var isChoice: Bool {
    switch self {
    case .play, .jump, .next, .previous, .resume, .restore: true
    default: false
    }
  }
}

/// What a player does about it.
enum PlayerAction: Sendable, Hashable {
  case load(EngineItem, at: Duration, isPaused: Bool)
  case follow(EngineItem?)
  case play
  case pause
  case seek(Duration, serial: Int)
  case setRate(Double)
  case setVolume(Double, isMuted: Bool)
  case stop
  /// Asks for `PlayerCommand.retry` after a while; nil: does not any more.
  case retry(after: Duration?)
  case tell(PlayerEvent)
  /// The item is not the current one any more.
  case leave(PlayQueue.Item, EngineItem.ID)
}
