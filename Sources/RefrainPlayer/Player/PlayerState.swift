// SPDX-License-Identifier: MIT
public import Refrain

/// The values of a player's properties at one moment.
public struct PlayerState: Sendable, Hashable {
  public internal(set) var status = PlaybackStatus.idle
  /// Whether playback is wanted, also while it waits: the state to show on a play button.
  public internal(set) var wantsToPlay = false
  public internal(set) var queue = PlayQueue()
  public internal(set) var position = Duration.zero
  /// The duration of the current item; nil while it is unknown, and for live streams.
  public internal(set) var duration: Duration?
  /// Whether the current item is a live stream: it plays as it arrives, has no duration, and cannot
  /// seek, unless it has a `liveWindow`. False while that is unknown.
  public internal(set) var isLive = false
  /// The kept part of a live stream, in which one can seek (`Player.Configuration.rewind`); nil
  /// for other media, and for live streams that do not seek.
  public internal(set) var liveWindow: LiveWindow?
  /// Whether the listener is behind the present of a live stream by choice: after a seek
  /// back, or a pause. False again after a seek to the present.
  public internal(set) var hasLeftLive = false
  /// The ranges buffered ahead, which play without any further byte.
  public internal(set) var bufferedRanges: [Range<Duration>] = []
  /// The stored part of the current item, in bytes; nil for files, streams, and while it is
  /// unknown.
  public internal(set) var cacheProgress: CacheProgress?
  /// The ranges of the current item that are being fetched, in bytes; empty for streams.
  public internal(set) var fetching = RangeSet<Int64>()
  /// The stored part of the current item, in time, if that is a stream from a proxy; nil for
  /// other media, for live streams, and while it is unknown.
  public internal(set) var streamProgress: StreamProgress?
  /// The statistics of reading the current item so far; nil for files and streams.
  public internal(set) var statistics: MediaReader.Statistics?
  public internal(set) var metadata = MediaMetadata()
  /// The playback rate; 1 is normal speed.
  public internal(set) var rate = 1.0
  /// The volume: 0 is silence, 1 the loudness of the media.
  public internal(set) var volume = 1.0
  public internal(set) var isMuted = false
  public internal(set) var sleepTimer: SleepTimer?
  /// Whether no sound device could be opened: playback then runs in real time, without sound.
  public internal(set) var isSilent = false
  /// The sound device, by the engine's name for it; nil: the system's.
  public internal(set) var audioDevice: String?
  /// The tracks of the current item; empty until they are known, and if the engine does not list
  /// them.
  public internal(set) var tracks = MediaTracks()
  /// The video of the current item; nil if none is shown.
  public internal(set) var video: VideoStatus?
  /// Whether video is shown, where there is any.
  public internal(set) var showsVideo = true
  /// Whether the player's own window fills the screen; nil while no window is open.
  public internal(set) var isFullscreen: Bool?

  public init() {}

  /// The current item of the queue.
  public var item: PlayQueue.Item? { queue.current }

  /// The stored part of the current item, as times. Exact for streams (`streamProgress`); for
  /// other media, as if every second took the same number of bytes, which is accurate enough for a
  /// scrubber. Empty while the length or the duration is unknown.
  public var cachedRanges: [Range<Duration>] {
    if let streamProgress { return streamProgress.cachedRanges }
    guard let cacheProgress else { return [] }
    return times(of: cacheProgress.spans, length: cacheProgress.length)
  }

  /// The ranges of the current item that are being fetched, as times.
  public var fetchingRanges: [Range<Duration>] {
    if let streamProgress { return streamProgress.fetchingRanges }
    guard let length = cacheProgress?.length else { return [] }
    return times(of: fetching, length: length)
  }

  private func times(of spans: RangeSet<Int64>, length: Int64?) -> [Range<Duration>] {
    guard let duration else { return [] }
    return TimeMap(length: length, duration: duration).times(of: spans)
  }
}

/// The time at which playback pauses by itself.
public enum SleepTimer: Sendable, Hashable {
  case at(ContinuousClock.Instant)
  /// When the current item has ended; the next one then waits at its start.
  case endOfItem
}

/// The status of a player: exactly one of these.
public enum PlaybackStatus: Sendable, Hashable {
  /// Nothing was selected, or playback was stopped.
  case idle
  /// The current item was requested, and is not audible yet.
  case loading
  case playing
  case paused
  /// Playback is wanted, but waits.
  case buffering(WaitingReason)
  /// The queue was played to its end. `resume()` plays items added since, or begins again.
  case ended
  /// The queue cannot continue; the error states why, and what to do. `resume()` tries again.
  case failed(MediaCacheError)
}

extension PlayerState {
  /// Returns the differences from an earlier state, as events.
  func changes(since before: PlayerState) -> [PlayerEvent] {
    var events: [PlayerEvent] = []
    func compare<Value: Equatable>(
      _ property: KeyPath<PlayerState, Value>, _ event: (Value) -> PlayerEvent
    ) {
      let value = self[keyPath: property]
      if value != before[keyPath: property] { events.append(event(value)) }
    }
    compare(\.queue, PlayerEvent.queue)
    compare(\.item, PlayerEvent.item)
    compare(\.isLive, PlayerEvent.live)
    compare(\.liveWindow, PlayerEvent.liveWindow)
    compare(\.duration, PlayerEvent.duration)
    compare(\.position, PlayerEvent.position)
    compare(\.wantsToPlay, PlayerEvent.wantsToPlay)
    compare(\.status, PlayerEvent.status)
    compare(\.bufferedRanges, PlayerEvent.buffered)
    compare(\.cacheProgress, PlayerEvent.cached)
    compare(\.fetching, PlayerEvent.fetching)
    compare(\.streamProgress, PlayerEvent.streamProgress)
    compare(\.metadata, PlayerEvent.metadata)
    compare(\.tracks, PlayerEvent.tracks)
    compare(\.video, PlayerEvent.video)
    compare(\.showsVideo, PlayerEvent.showsVideo)
    compare(\.isFullscreen, PlayerEvent.fullscreen)
    compare(\.rate, PlayerEvent.rate)
    if volume != before.volume || isMuted != before.isMuted {
      events.append(.volume(volume, isMuted: isMuted))
    }
    compare(\.sleepTimer, PlayerEvent.sleepTimer)
    compare(\.audioDevice, PlayerEvent.audioDevice)
    if isSilent, !before.isSilent { events.append(.audioUnavailable) }
    return events
  }
}

extension PlayerState {
  /// How far the position is behind the newest sound of a live stream with a window; nil for other
  /// media. Live playback is a few seconds behind, as much as was sent in advance or is needed to
  /// start.
  public var behindLive: Duration? { liveWindow.map { max(.zero, $0.end - position) } }

  /// `behindLive` as it is to be shown: nil also at the present (`LiveWindow.distance`).
  public var shownBehindLive: Duration? {
    liveWindow?.distance(of: position, hasLeftLive: hasLeftLive)
  }
}
