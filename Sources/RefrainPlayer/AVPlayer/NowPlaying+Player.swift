// SPDX-License-Identifier: MIT
import Foundation
import Refrain

extension NowPlaying {
  /// Shows what a player plays and passes remote commands to it, until another player is followed,
  /// the player is closed, or this object is released. Artwork is loaded through the player's
  /// cache: that of the media (`Media.artwork`), otherwise `cover.jpg` or `folder.jpg` beside a local
  /// file.
  public func follow(_ player: Player) {
    onCommand = { [weak player] in player?.take($0) }
    let events = player.events()
    // The stream ends with the player.
    following = Task { [weak self, weak player] in
      var shown: (picture: MediaPicture, data: Data?)?
      for await _ in events {
        guard let player, let self else { return }
        guard let item = player.item, player.status != .idle else {
          clear()
          continue
        }
        let picture = MediaPicture(of: item.media)
        if shown?.picture != picture { shown = picture.map { ($0, nil) } }
        update(NowPlayingInfo(of: player, artwork: shown?.data))
        if let picture, shown?.data == nil {
          let data = await player.artwork(of: picture)
          shown = (picture, data ?? Data())
          if player.item == item { update(NowPlayingInfo(of: player, artwork: data)) }
        }
      }
    }
  }
}

extension NowPlayingInfo {
  /// Describes the current item of `player`.
  @MainActor
  init(of player: Player, artwork: Data? = nil) {
    let media = player.item?.media
    let metadata = player.metadata
    self.init(
      title: metadata.streamTitle ?? media?.title ?? metadata.title
        ?? media?.url.deletingPathExtension().lastPathComponent,
      artist: media?.artist ?? metadata.artist ?? metadata.station,
      album: media?.album ?? metadata.album,
      duration: player.isLive ? nil : player.duration ?? media?.duration, position: player.position,
      rate: player.rate,
      isPlaying: player.status == .playing,
      isLive: player.isLive, isVideo: metadata.isVideo == true,
      queueIndex: player.queue.currentIndex, queueCount: player.queue.items.count,
      artwork: artwork.flatMap { $0.isEmpty ? nil : $0 })
  }
}

extension Player {
  /// Returns nil for a picture that cannot be loaded.
  fileprivate func artwork(of picture: MediaPicture) async -> Data? {
    guard let url = await picture.url() else { return nil }
    return try? await artwork(at: url)
  }

  /// Performs a remote command.
  func take(_ command: RemoteCommand) {
    switch command {
    case .play: resume()
    case .pause: pause()
    case .toggle: togglePlayback()
    case .next: next()
    case .previous: previous()
    case .seek(let position): seek(to: position)
    case .skip(let distance): seek(by: distance)
    case .rate(let rate): self.rate = rate
    }
  }
}
