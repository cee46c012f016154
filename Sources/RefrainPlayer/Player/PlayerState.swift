// SPDX-License-Identifier: MIT
public import Refrain

/// All that a player shows, at one moment.
public struct PlayerState: Sendable, Hashable {
  public internal(set) var status = PlaybackStatus.idle
  /// Whether it is to play: what a button shows, also while something is waited for.
  public internal(set) var wantsToPlay = false
  public internal(set) var queue = PlayQueue()
  public internal(set) var position = Duration.zero
  /// Of the current item; nil while it is unknown, and for live streams.
  public internal(set) var duration: Duration?
  /// The current item is a live stream: it plays as it comes, has no length, and cannot be sought in.
  /// False while that is unknown.
  public internal(set) var isLive = false
  /// What is decoded ahead.
  public internal(set) var bufferedRanges: [Range<Duration>] = []
  /// How much of the current item is stored, in bytes; nil for files, and while it is unknown.
  public internal(set) var cacheProgress: CacheProgress?
  /// What is being fetched of it now, in bytes.
  public internal(set) var fetching = RangeSet<Int64>()
  /// What was given to the engine of the current item so far; nil for files.
  public internal(set) var statistics: MediaReader.Statistics?
  public internal(set) var metadata = MediaMetadata()
  /// 1 is as it was recorded.
  public internal(set) var rate = 1.0
  /// 0 is silence, 1 the loudness of the media.
  public internal(set) var volume = 1.0
  public internal(set) var isMuted = false
  public internal(set) var sleepTimer: SleepTimer?
  /// No sound device could be opened: it plays in real time, without a sound.
  public internal(set) var isSilent = false

  public init() {}

  /// The current item of the queue.
  public var item: PlayQueue.Item? { queue.current }

  /// What is stored of the current item, as times: as if every second took the same number of bytes,
  /// which is near enough for a scrubber. Empty while the length or the duration is unknown.
  public var cachedRanges: [Range<Duration>] {
    guard let cacheProgress, let duration else { return [] }
    return TimeMap(length: cacheProgress.length, duration: duration).times(of: cacheProgress.spans)
  }

  /// What is being fetched of the current item, as times.
  public var fetchingRanges: [Range<Duration>] {
    guard let length = cacheProgress?.length, let duration else { return [] }
    return TimeMap(length: length, duration: duration).times(of: fetching)
  }
}

/// When playing is to pause by itself.
public enum SleepTimer: Sendable, Hashable {
  case at(ContinuousClock.Instant)
  /// When the current item has ended; the next one then waits at its start.
  case endOfItem
}
