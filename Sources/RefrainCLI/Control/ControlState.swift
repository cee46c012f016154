// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer

  /// The state of a player as the clients of a control socket see it: every property follows from
  /// this value.
  struct ControlState: Sendable {
    var player = PlayerState()
    /// Whether the player shows any video.
    var canShowVideo = false
    /// The chapters of the current item that are in a file of their own.
    var loadedChapters: [Media.Chapter] = []

    /// Whether an item plays, or would if it were not paused.
    var isOccupied: Bool {
      switch player.status {
      case .idle, .ended, .failed: false
      case .loading, .playing, .paused, .buffering: player.item != nil
      }
    }

    /// Returns the value of a property; nil: it has none now.
    func value(of property: ControlProperty) -> ControlValue? {
      let queue = player.queue
      return switch property {
      case .pause: .bool(!player.wantsToPlay)
      case .volume: .number((player.volume * 1e4).rounded() / 100)
      case .mute: .bool(player.isMuted)
      case .speed: .number(player.rate)
      case .timePosition: isOccupied ? ControlValue(player.position) : nil
      case .percentPosition: percent.map(ControlValue.number)
      case .duration: player.item == nil ? nil : player.duration.map { ControlValue($0) }
      case .playlist: .array(queue.items.map(entry))
      case .playlistPosition: ControlValue(queue.currentIndex ?? -1)
      case .playlistNumber: ControlValue(queue.currentIndex.map { $0 + 1 } ?? -1)
      case .playlistCount: ControlValue(queue.items.count)
      case .title:
        player.item.map { .string(ScreenModel.title(of: $0.media, player.metadata)) }
      case .path: player.item.map { .string(Self.path(of: $0.media)) }
      case .loopsPlaylist: queue.repeatMode == .all ? .string("inf") : .bool(false)
      case .loopsFile: queue.repeatMode == .one ? .string("inf") : .bool(false)
      case .shuffle: .bool(queue.isShuffled)
      case .tracks: .array(player.tracks.all.map(track))
      case .aid: selected(.audio)
      case .sid: selected(.subtitle)
      case .vid: player.showsVideo ? selected(.video) : .bool(false)
      case .audioDevice: .string(player.audioDevice ?? Self.systemDevice)
      case .fullscreen: player.isFullscreen.map(ControlValue.bool)
      // The list is looked up.
      case .audioDevices: nil
      case .isIdle: .bool(!isOccupied)
      default: detail(of: property)
      }
    }

    /// libmpv's name of the device that the system chooses.
    static let systemDevice = "auto"

    private var percent: Double? {
      guard isOccupied, let duration = player.duration, duration > .zero else { return nil }
      return min(100, max(0, player.position / duration * 100))
    }

    private func entry(_ item: PlayQueue.Item) -> ControlValue {
      var members: [String: ControlValue] = [
        "id": .integer(Int64(item.id.rawValue)), "filename": .string(Self.path(of: item.media)),
      ]
      if let title = item.media.title { members["title"] = .string(title) }
      if item.id == player.item?.id {
        members["current"] = .bool(true)
        if isOccupied { members["playing"] = .bool(true) }
      }
      return .object(members)
    }

    /// Returns the path of a file, or a URL without its user and password.
    private static func path(of media: Media) -> String {
      media.url.isFileURL
        ? media.url.path(percentEncoded: false) : media.url.withoutUserInfo.absoluteString
    }

    private func selected(_ kind: MediaTrack.Kind) -> ControlValue {
      player.tracks.selected(kind).map { ControlValue($0.id.number) } ?? .bool(false)
    }

    private func track(_ track: MediaTrack) -> ControlValue {
      var members: [String: ControlValue] = [
        "id": ControlValue(track.id.number), "type": .string(track.kind.controlName),
        "selected": .bool(player.tracks.selected.contains(track.id)),
        "default": .bool(track.isDefault), "forced": .bool(track.isForced),
        "external": .bool(track.isExternal), "albumart": .bool(track.isCover),
      ]
      if let title = track.title { members["title"] = .string(title) }
      if let language = track.language { members["lang"] = .string(language) }
      if let codec = track.codec { members["codec"] = .string(codec) }
      return .object(members)
    }

    /// Whether a property has the same value as in an earlier state.
    func hasSame(_ property: ControlProperty, as before: ControlState) -> Bool {
      switch property {
      case .playlist:
        // Queues that share their storage are compared at once.
        player.queue.items == before.player.queue.items
          && player.queue.currentIndex == before.player.queue.currentIndex
          && isOccupied == before.isOccupied
      default: value(of: property) == before.value(of: property)
      }
    }
  }

  extension MediaTrack.Kind {
    /// mpv's name.
    fileprivate var controlName: String {
      switch self {
      case .video: "video"
      case .audio: "audio"
      case .subtitle: "sub"
      }
    }
  }
#endif
