// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

/// An event that an engine reports, in the order of occurrence.
///
/// For each item, `began` comes first, then at most one `ready`, and `ended` or `failed` last. The
/// other events come in between, in any number; positions at most ten times a second. After another
/// item was loaded or playback stopped, nothing more is reported of an item.
public enum EngineEvent: Sendable, Hashable {
  /// The item is now the current one: it was loaded, or follows the previous item.
  case began(EngineItem.ID)
  /// The item is audible, or would be if it were not paused.
  case ready(EngineItem.ID, at: Duration)
  /// The item's duration, once it is known and whenever it changes; nil for a live stream.
  case duration(EngineItem.ID, Duration?)
  /// The item is a live stream: it plays as it arrives, has no duration, and cannot seek, unless
  /// `liveWindow` says otherwise. Reported once: before `ready`, or later if it is detected later.
  case live(EngineItem.ID)
  /// The part of a live stream that is kept, in which it can seek (`EngineItem.rewind`); at most
  /// twice per second of received sound. Of a station, whose titles then are those of `streamTitle`,
  /// first reported before `ready`.
  case liveWindow(EngineItem.ID, LiveWindow)
  /// The title of the sound that is heard, of a live stream with a `liveWindow`.
  case streamTitle(EngineItem.ID, StreamTitle)
  case position(EngineItem.ID, Duration)
  /// The ranges buffered ahead, which play without any further byte.
  case buffered(EngineItem.ID, [Range<Duration>])
  /// The item should play, but waits; nil: it no longer waits. Seeks are not reported here.
  case waiting(EngineItem.ID, WaitingReason?)
  /// Every seek up to this serial number is over, and led to this position.
  case seekCompleted(EngineItem.ID, serial: Int, at: Duration)
  /// The media's metadata; replaces what was reported before.
  case metadata(EngineItem.ID, MediaMetadata)
  /// The item's tracks, once they are known and whenever they or the selection change.
  case tracks(EngineItem.ID, MediaTracks)
  /// The item's video, once it is shown and whenever it changes; nil: none is shown.
  case video(EngineItem.ID, VideoStatus?)
  /// A subtitle of another resource could not be read. Playback continues without it.
  case subtitleFailed(EngineItem.ID, URL, MediaCacheError)
  /// The item played to its end. `followedBy` is the item that the engine continues with by itself,
  /// whose `began` comes next; nil if there is none and the engine waits for a call.
  case ended(EngineItem.ID, followedBy: EngineItem.ID?)
  /// The item cannot be played, or not further. The engine waits for a call.
  case failed(EngineItem.ID, MediaCacheError)
  /// The listener made the engine leave the item, by dropping a file on its window, say. The engine
  /// waits for a call: the player loads the item again.
  case displaced(EngineItem.ID)
  /// No sound device could be opened. Playback continues in real time, without sound.
  case audioUnavailable
  /// A sound device plays again, after `audioUnavailable`.
  case audioAvailable
  /// The system, not the listener, paused or resumed: a call came in, headphones were unplugged.
  case pausedBySystem(Bool)
  /// The item has video, but it could not be shown. Playback continues with the sound.
  case videoUnavailable
  case window(WindowEvent)
  /// The engine's own window opened or closed, or fills the screen, or no longer does; nil: no
  /// window is open, as before the first report.
  case fullscreen(Bool?)
  /// A request that the listener made by the engine's own controller. After `next`, the engine
  /// waits for a call.
  case requested(ListenerRequest)

  /// The item that the event concerns; nil if it concerns the engine.
  public var item: EngineItem.ID? {
    switch self {
    case .began(let id), .ready(let id, _), .duration(let id, _), .position(let id, _),
      .buffered(let id, _), .waiting(let id, _), .seekCompleted(let id, _, _), .metadata(let id, _),
      .ended(let id, _), .failed(let id, _), .live(let id), .displaced(let id),
      .tracks(let id, _), .video(let id, _), .subtitleFailed(let id, _, _),
      .liveWindow(let id, _), .streamTitle(let id, _):
      id
    case .audioUnavailable, .audioAvailable, .pausedBySystem, .videoUnavailable, .window,
      .fullscreen, .requested:
      nil
    }
  }
}

/// The reason why playback waits.
public enum WaitingReason: Sendable, Hashable {
  /// Bytes are on their way.
  case bytes
  /// The origin cannot be reached, for the given reason. The engine tries again by itself.
  case network(MediaCacheError)
  /// A seek is under way.
  case seek
}
