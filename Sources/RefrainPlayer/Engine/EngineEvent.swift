// SPDX-License-Identifier: MIT
public import Refrain

/// What an engine tells of an item, in the order in which it happens.
///
/// Of each item: `began` first, then at most one `ready`, last `ended` or `failed`, unless another
/// item was loaded or everything stopped, after which nothing more comes of it. Between them the
/// others, in any number; of positions at most ten a second.
public enum EngineEvent: Sendable, Hashable {
  /// The item is the current one from here on: it was loaded, or follows on the one before it.
  case began(EngineItem.ID)
  /// It can be heard, or could be were it not paused.
  case ready(EngineItem.ID, at: Duration)
  /// Its length in time, as soon as it is known and where it turns out differently; nil: it has none,
  /// as a live stream has none.
  case duration(EngineItem.ID, Duration?)
  /// It is a live stream: it plays as it comes, has no length in time, and cannot be sought in. Told
  /// once: before `ready`, or where it turns out later.
  case live(EngineItem.ID)
  case position(EngineItem.ID, Duration)
  /// What is decoded ahead and can be heard without any further byte.
  case buffered(EngineItem.ID, [Range<Duration>])
  /// It should play, and waits; nil: it does not wait any longer. Seeks are not told here.
  case waiting(EngineItem.ID, WaitingReason?)
  /// Every seek up to that number is over, and this is where it led to.
  case seekCompleted(EngineItem.ID, serial: Int, at: Duration)
  /// What the media says of itself; replaces what was said before.
  case metadata(EngineItem.ID, MediaMetadata)
  /// Played to its end. `followedBy` is the item that the engine goes on with by itself, whose
  /// `began` comes next; nil where it has none, and waits to be told.
  case ended(EngineItem.ID, followedBy: EngineItem.ID?)
  /// It cannot be played, or not further. The engine waits to be told what is next.
  case failed(EngineItem.ID, MediaCacheError)
  /// No sound device could be opened. Playing goes on in real time, without a sound.
  case audioUnavailable
  /// The system, not the listener, paused or resumed: a call came in, headphones were pulled out.
  case pausedBySystem(Bool)

  /// The item that it is about; nil where it is about the engine.
  public var item: EngineItem.ID? {
    switch self {
    case .began(let id), .ready(let id, _), .duration(let id, _), .position(let id, _),
      .buffered(let id, _), .waiting(let id, _), .seekCompleted(let id, _, _), .metadata(let id, _),
      .ended(let id, _), .failed(let id, _), .live(let id):
      id
    case .audioUnavailable, .pausedBySystem: nil
    }
  }
}

/// What playback waits for.
public enum WaitingReason: Sendable, Hashable {
  /// For bytes that are on their way.
  case bytes
  /// The origin cannot be reached, for the reason given. It is tried again, by itself.
  case network(MediaCacheError)
  /// For what a seek led to.
  case seek
}
