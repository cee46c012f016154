// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

/// A change of a player's properties or another event, in the order of occurrence.
public enum PlayerEvent: Sendable, Hashable {
  case status(PlaybackStatus)
  case wantsToPlay(Bool)
  /// The current item has changed; nil: there is none.
  case item(PlayQueue.Item?)
  case queue(PlayQueue)
  /// At most ten times a second, and after seeks.
  case position(Duration)
  case duration(Duration?)
  /// The current item turned out to be a live stream (true), or was replaced by one that is none
  /// (false).
  case live(Bool)
  /// The kept part of a live stream, in which one can seek, has changed: at most twice per
  /// second of received sound. Nil: there is none any more.
  case liveWindow(LiveWindow?)
  case buffered([Range<Duration>])
  case cached(CacheProgress?)
  case fetching(RangeSet<Int64>)
  /// How much of a stream is stored; at most four times a second.
  case streamProgress(StreamProgress?)
  case metadata(MediaMetadata)
  /// The tracks of the current item, or their selection, have changed.
  case tracks(MediaTracks)
  /// The shown video has changed; nil: none is shown.
  case video(VideoStatus?)
  case showsVideo(Bool)
  /// The player's own window opened or closed, or fills the screen, or no longer does; nil: no
  /// window is open.
  case fullscreen(Bool?)
  case rate(Double)
  case volume(Double, isMuted: Bool)
  case sleepTimer(SleepTimer?)
  /// The sound goes to another device; nil: the system's.
  case audioDevice(String?)
  /// No sound device could be opened.
  case audioUnavailable
  /// The item has video, but it could not be shown: only its sound plays.
  case videoUnavailable(PlayQueue.Item)
  /// A subtitle (`Media.subtitles`) could not be read. Playback continues without it.
  case subtitleFailed(PlayQueue.Item, URL, MediaCacheError)
  /// An event of the player's own window.
  case window(WindowEvent)
  /// The first sound of an item was heard, this long after the item was requested.
  case started(PlayQueue.Item, after: Duration)
  /// A seek is over, and led to this position.
  case seekCompleted(Duration)
  /// A seek was refused: the item is a live stream, which plays as it arrives, and nothing of it is
  /// kept.
  case seekRefused(PlayQueue.Item)
  /// The item played to its end.
  case finished(PlayQueue.Item)
  /// The item could not be played, or not further. The next one is tried, unless `status` says
  /// otherwise.
  case failed(PlayQueue.Item, MediaCacheError)
  /// The item turned out to be a list (`Player.Configuration.readList`): these items, in the order of
  /// the list, have taken its place in the queue.
  case expanded(PlayQueue.Item, into: [PlayQueue.Item])
  /// The item is no longer the current one, for any reason; the report summarizes its playback.
  case report(PlayQueue.Item, PlaybackReport)
}

/// A summary of an item's playback.
public struct PlaybackReport: Sendable, Hashable {
  /// The time from the request for the item to its first sound; nil if there was none.
  public var timeToFirstSound: Duration?
  /// The statistics of reading the item; nil for files and streams.
  public var statistics: MediaReader.Statistics?

  public init(timeToFirstSound: Duration?, statistics: MediaReader.Statistics?) {
    self.timeToFirstSound = timeToFirstSound
    self.statistics = statistics
  }
}

/// The event streams of a player, on the main actor. An interface that lost an event would be wrong
/// from then on, and there are few: streams are unbounded, unlike those of a cache.
@MainActor
struct PlayerListeners {
  private var continuations: [AsyncStream<PlayerEvent>.Continuation] = []
  private var isFinished = false

  mutating func add() -> AsyncStream<PlayerEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: PlayerEvent.self)
    if isFinished { continuation.finish() } else { continuations.append(continuation) }
    return stream
  }

  mutating func send(_ event: PlayerEvent) {
    guard !continuations.isEmpty else { return }
    continuations.removeAll { continuation in
      if case .terminated = continuation.yield(event) { true } else { false }
    }
  }

  mutating func finish() {
    isFinished = true
    for continuation in continuations { continuation.finish() }
    continuations = []
  }
}
