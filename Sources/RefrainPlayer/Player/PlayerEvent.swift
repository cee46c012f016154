// SPDX-License-Identifier: MIT
public import Refrain

/// What changes in a player, and what happens in it. Says the same as its properties, in order.
public enum PlayerEvent: Sendable, Hashable {
  case status(PlaybackStatus)
  case wantsToPlay(Bool)
  /// Another item of the queue is the current one, or none.
  case item(PlayQueue.Item?)
  case queue(PlayQueue)
  /// At most ten times a second, and after seeks.
  case position(Duration)
  case duration(Duration?)
  /// The current item turned out to be a live stream, or another item is current that is none.
  case live(Bool)
  case buffered([Range<Duration>])
  case cached(CacheProgress?)
  case fetching(RangeSet<Int64>)
  case metadata(MediaMetadata)
  case rate(Double)
  case volume(Double, isMuted: Bool)
  case sleepTimer(SleepTimer?)
  /// No sound device could be opened.
  case audioUnavailable
  /// The first sound of an item came, so long after it was asked for.
  case started(PlayQueue.Item, after: Duration)
  /// A seek is over, and led here.
  case seekCompleted(Duration)
  /// A seek was asked for in this item, which is a live stream and plays on as it comes.
  case seekRefused(PlayQueue.Item)
  /// Played to its end.
  case finished(PlayQueue.Item)
  /// Could not be played, or not further; the next one is tried, unless `status` says otherwise.
  case failed(PlayQueue.Item, MediaCacheError)
  /// The item is over in whichever way, and this is what it took.
  case report(PlayQueue.Item, PlaybackReport)
}

/// What playing an item came to.
public struct PlaybackReport: Sendable, Hashable {
  /// From its being asked for to the first sound; nil where there was none.
  public var timeToFirstSound: Duration?
  /// What came from where; nil for files.
  public var statistics: MediaReader.Statistics?

  public init(timeToFirstSound: Duration?, statistics: MediaReader.Statistics?) {
    self.timeToFirstSound = timeToFirstSound
    self.statistics = statistics
  }
}
