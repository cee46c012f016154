// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

/// A line of `play --json`.
struct PlayEvent: Encodable {
  struct Metadata: Encodable {
    var title: String?
    var artist: String?
    var album: String?
    var streamTitle: String?
    var station: String?
  }

  /// A track of the item.
  struct Track: Encodable {
    var kind: String
    /// Counts from 1 within the kind.
    var number: Int
    var title: String?
    var language: String?
    var codec: String?
    var isSelected: Bool
  }

  var event: String
  /// The URL of the event's item.
  var url: String?
  /// Seconds until the first sound or the next request, of a position, or of a duration.
  var seconds: Double?
  /// With `status`: the player's state, and the cause of waiting.
  var status: String?
  var waitingFor: String?
  var error: ErrorReport?
  var metadata: Metadata?
  /// With `cached`.
  var storedBytes: Int64?
  var totalBytes: Int64?
  /// With `cached` of a stream.
  var storedSeconds: Double?
  var totalSeconds: Double?
  var report: PlayReport?
  /// With `tracks`.
  var tracks: [Track]?
  /// With `video`: the size in pixels, the codec, and the number of frames that came too late; nil
  /// if no video is shown any more.
  var width: Int?
  var height: Int?
  var codec: String?
  var droppedFrames: Int?
  /// With `liveWindow`: the kept part of a live stream.
  var startSeconds: Double?
  var endSeconds: Double?
  /// With `subtitleFailed`: the URL of the subtitle.
  var subtitle: String?

  init(_ event: String, _ media: Media?) {
    self.event = event
    url = media?.url.withoutUserInfo.absoluteString
  }

  /// A request for an item failed and is sent again after `delay`.
  init(retrying media: Media, _ error: MediaCacheError, after delay: Duration) {
    self.init("retrying", media)
    self.error = ErrorReport(error)
    seconds = delay / .seconds(1)
  }

  /// A chapter of an item has begun.
  init(_ chapter: Chapter, of media: Media?) {
    self.init("chapter", media)
    metadata = Metadata(title: chapter.title)
    seconds = chapter.start / .seconds(1)
  }

  /// Returns nil for an event that is not reported to programs.
  ///
  /// - Parameter current: the subject of an event that names no item.
  init?(_ event: PlayerEvent, about current: Media?) {
    switch event {
    case .item(let item?):
      self.init("item", item.media)
      let (title, artist, album) = (item.media.title, item.media.artist, item.media.album)
      if title != nil || artist != nil || album != nil {
        metadata = Metadata(title: title, artist: artist, album: album)
      }
    case .started(let item, let time):
      self.init("started", item.media)
      seconds = time / .seconds(1)
    case .duration(let time?):
      self.init("duration", current)
      seconds = time / .seconds(1)
    case .position(let time):
      self.init("position", current)
      seconds = time / .seconds(1)
    case .live(true): self.init("live", current)
    case .liveWindow(let window?):
      self.init("liveWindow", current)
      startSeconds = window.start / .seconds(1)
      endSeconds = window.end / .seconds(1)
    case .seekRefused(let item): self.init("seekRefused", item.media)
    case .audioUnavailable: self.init("silent", current)
    case .finished(let item): self.init("ended", item.media)
    case .failed(let item, let error):
      self.init("failed", item.media)
      self.error = ErrorReport(error)
    case .expanded(let item, _): self.init("expanded", item.media)
    case .cached(let progress?):
      self.init("cached", current)
      (storedBytes, totalBytes) = (progress.storedBytes, progress.length)
    case .streamProgress(let progress?):
      self.init("cached", current)
      storedSeconds = progress.cachedDuration / .seconds(1)
      totalSeconds = progress.duration / .seconds(1)
    case .metadata(let metadata) where metadata != MediaMetadata():
      self.init("metadata", current)
      self.metadata = Metadata(
        title: metadata.title, artist: metadata.artist, album: metadata.album,
        streamTitle: metadata.streamTitle, station: metadata.station)
    case .tracks(let tracks) where tracks.hasChoice:
      self.init("tracks", current)
      self.tracks = tracks.all.map { track in
        Track(
          kind: track.kind.rawValue, number: track.id.number, title: track.title,
          language: track.language, codec: track.codec,
          isSelected: tracks.selected.contains(track.id))
      }
    case .video(let video):
      self.init("video", current)
      (width, height, codec) = (video?.width, video?.height, video?.codec)
      droppedFrames = video?.droppedFrames
    case .videoUnavailable(let item): self.init("videoUnavailable", item.media)
    case .subtitleFailed(let item, let url, let error):
      self.init("subtitleFailed", item.media)
      subtitle = url.withoutUserInfo.absoluteString
      self.error = ErrorReport(error)
    case .status(let status):
      self.init("status", current)
      guard tell(status) else { return nil }
    default: return nil
    }
  }

  /// Returns false if other events report the status.
  private mutating func tell(_ now: PlaybackStatus) -> Bool {
    switch now {
    case .idle, .ended: return false
    case .loading: status = "loading"
    case .playing: status = "playing"
    case .paused: status = "paused"
    case .buffering(let reason):
      status = "buffering"
      switch reason {
      case .bytes: waitingFor = "bytes"
      case .seek: waitingFor = "seek"
      case .network(let error): (waitingFor, self.error) = ("network", ErrorReport(error))
      }
    case .failed(let error): (status, self.error) = ("failed", ErrorReport(error))
    }
    return true
  }
}

extension MediaTracks {
  /// Whether there is something to choose or to show: a video, a subtitle, or a second sound track.
  fileprivate var hasChoice: Bool {
    hasVideo || !tracks(of: .subtitle).isEmpty || tracks(of: .audio).count > 1
  }
}

extension PlayEvent {
  /// Whether a later event of the kind makes it superfluous.
  var isRepeated: Bool { event == "position" || event == "cached" }
}
