// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain

  /// The state of a player as a desktop sees it: every property follows from this value.
  struct MPRISState: Sendable {
    /// The description and the abilities of the app.
    struct App: Sendable, Hashable {
      var identity: String
      var desktopEntry: String
      var uriSchemes: [String]
      var mimeTypes: [String]
      var canQuit = false
      var canRaise = false
      var canSetFullscreen = false
      var isFullscreen = false
    }

    enum Playback: String {
      case playing = "Playing"
      case paused = "Paused"
      case stopped = "Stopped"
    }

    var app: App
    var player = PlayerState()
    /// The URL of the current item's picture.
    var artwork: String?

    var playback: Playback {
      switch player.status {
      case .idle, .ended, .failed: .stopped
      case .loading, .playing, .paused, .buffering: player.wantsToPlay ? .playing : .paused
      }
    }

    var canSeek: Bool {
      player.item != nil && (!player.isLive || player.liveWindow != nil) && playback != .stopped
    }

    /// Whether clients can let a window fill the screen: that of the app, or the player's own.
    var canSetFullscreen: Bool { app.canSetFullscreen || player.isFullscreen != nil }

    /// Whether the window fills the screen that clients change, or the app's.
    var isFullscreen: Bool {
      app.canSetFullscreen ? app.isFullscreen : player.isFullscreen ?? app.isFullscreen
    }

    var hasNext: Bool { player.queue.next(.asked) != nil }

    var hasPrevious: Bool { player.queue.previous() != nil }

    /// The length of the current item; nil while it is unknown, and for live streams.
    var length: Duration? {
      player.isLive ? nil : player.duration ?? player.item?.media.duration
    }

    /// The position in microseconds, within the length.
    var position: Int64 {
      let position = max(.zero, player.position)
      return min(position, length ?? position).microseconds
    }

    func value(of property: MPRISProperty) -> DBusValue {
      switch property {
      case .canQuit: .bool(app.canQuit)
      case .isFullscreen: .bool(isFullscreen)
      case .canSetFullscreen: .bool(canSetFullscreen)
      case .canRaise: .bool(app.canRaise)
      case .hasTrackList, .canControl, .canEditTracks: .bool(true)
      case .identity: .string(app.identity)
      case .desktopEntry: .string(app.desktopEntry)
      case .uriSchemes: .strings(app.uriSchemes)
      case .mimeTypes: .strings(app.mimeTypes)
      case .playbackStatus: .string(playback.rawValue)
      case .loopStatus: .string(player.queue.repeatMode.loopStatus)
      case .rate: .double(player.rate)
      case .isShuffled: .bool(player.queue.isShuffled)
      case .metadata: .map(metadata)
      case .volume: .double(player.isMuted ? 0 : player.volume)
      case .position: .int64(position)
      case .minimumRate: .double(Player.rates.lowerBound)
      case .maximumRate: .double(Player.rates.upperBound)
      case .canGoNext: .bool(hasNext)
      case .canGoPrevious: .bool(hasPrevious)
      case .canPlay: .bool(!player.queue.isEmpty)
      case .canPause: .bool(player.item != nil)
      case .canSeek: .bool(canSeek)
      case .tracks: .paths(player.queue.items.map { MPRISTrackID.path($0.id) })
      }
    }
  }

  // MARK: Metadata

  extension MPRISState {
    /// The metadata of the current item.
    var metadata: [String: DBusValue] {
      guard let item = player.item else { return ["mpris:trackid": .path(MPRISTrackID.none)] }
      let (media, own) = (item.media, player.metadata)
      return Self.metadata(
        of: item, title: own.streamTitle ?? media.title ?? own.title,
        artist: media.artist ?? own.artist ?? own.station, album: media.album ?? own.album,
        length: length, artwork: artwork)
    }

    /// The metadata of an item of the queue.
    func metadata(of item: PlayQueue.Item) -> [String: DBusValue] {
      guard item.id != player.item?.id else { return metadata }
      let media = item.media
      let picture = media.artwork.flatMap { $0.isFileURL ? $0.absoluteString : nil }
      return Self.metadata(
        of: item, title: media.title, artist: media.artist, album: media.album,
        length: media.duration, artwork: picture)
    }

    /// The metadata of those of the tracks that are in the queue.
    func metadata(ofTracks paths: [String]) -> [[String: DBusValue]] {
      let items = Dictionary(
        player.queue.items.map { (MPRISTrackID.path($0.id), $0) },
        uniquingKeysWith: { first, _ in first })
      return paths.compactMap { items[$0] }.map(metadata(of:))
    }

    private static func metadata(
      of item: PlayQueue.Item, title: String?, artist: String?, album: String?, length: Duration?,
      artwork: String?
    ) -> [String: DBusValue] {
      var fields: [String: DBusValue] = [
        "mpris:trackid": .path(MPRISTrackID.path(item.id)),
        "xesam:url": .string(item.media.url.withoutUserInfo.absoluteString),
        "xesam:title": .string(
          title ?? item.media.url.deletingPathExtension().lastPathComponent),
      ]
      fields["xesam:artist"] = artist.map { .strings([$0]) }
      fields["xesam:album"] = album.map { .string($0) }
      fields["mpris:length"] = length.map { .int64($0.microseconds) }
      fields["mpris:artUrl"] = artwork.map { .string($0) }
      return fields
    }
  }

  extension PlayQueue.RepeatMode {
    var loopStatus: String {
      switch self {
      case .off: "None"
      case .one: "Track"
      case .all: "Playlist"
      }
    }

    init?(loopStatus: String) {
      guard let mode = Self.allCases.first(where: { $0.loopStatus == loopStatus }) else {
        return nil
      }
      self = mode
    }
  }

  extension Duration {
    /// The whole microseconds, at most as many as an Int64 holds.
    var microseconds: Int64 {
      let (seconds, attoseconds) = components
      let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000)
      guard !overflows else { return seconds < 0 ? .min : .max }
      let (all, exceeds) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000)
      return exceeds ? (seconds < 0 ? .min : .max) : all
    }
  }
#endif
