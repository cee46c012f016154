// SPDX-License-Identifier: MIT

/// A command to a player, from a listener or a timer.
enum PlayerCommand: Sendable, Hashable {
  /// Plays new media, the first item from a position.
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
  case seekToLive
  /// Seeks to the stored position nearest to this one.
  case scrub(Duration)
  case setRate(Double)
  case setVolume(Double)
  case setMuted(Bool)
  case setRepeatMode(PlayQueue.RepeatMode)
  case setShuffled(Bool)
  case setSleepTimer(SleepTimer?)
  case select(MediaTrack.ID?, MediaTrack.Kind)
  case setShowsVideo(Bool)
  case setFullscreen(Bool)
  /// Nil: the system's.
  case setAudioDevice(String?)
  case restore(PlayerSession)
  /// The sleep timer has run out.
  case fallAsleep
  /// The unreachable item is tried again.
  case retry

  /// Whether the listener selected what to play, which resets the record of earlier failures.
  var isChoice: Bool {
    switch self {
    case .play, .jump, .next, .previous, .resume, .restore: true
    default: false
    }
  }
}

/// An action that results from a command or an engine's event.
enum PlayerAction: Sendable, Hashable {
  case load(EngineItem, at: Duration, isPaused: Bool)
  case follow(EngineItem?)
  case play
  case pause
  case seek(Duration, serial: Int)
  case setRate(Double)
  case setVolume(Double, isMuted: Bool)
  case select(MediaTrack.ID?, MediaTrack.Kind)
  case setShowsVideo(Bool)
  case setFullscreen(Bool)
  case setAudioDevice(String?)
  /// The listener chose a track of a kind.
  case remember(TrackChoice, MediaTrack.Kind)
  case stop
  /// Schedules `PlayerCommand.retry`; nil: cancels it.
  case retry(after: Duration?)
  case tell(PlayerEvent)
  /// The item is no longer the current one.
  case leave(PlayQueue.Item, EngineItem.ID)
}
