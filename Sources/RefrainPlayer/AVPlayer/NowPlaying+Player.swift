// SPDX-License-Identifier: MIT
import Foundation
import Refrain

extension NowPlaying {
  /// Shows what a player plays and passes remote commands to it, until another player is followed,
  /// the player is closed, or this object is released. Artwork is loaded through the player's
  /// cache.
  public func follow(_ player: Player) {
    onCommand = { [weak player] in player?.take($0) }
    let events = player.events()
    // The stream ends with the player.
    following = Task { [weak self, weak player] in
      var picture: (url: URL, data: Data?)?
      for await _ in events {
        guard let player, let self else { return }
        guard let item = player.item, player.status != .idle else {
          clear()
          continue
        }
        let url = item.media.artwork
        if picture?.url != url { picture = url.map { ($0, nil) } }
        update(NowPlayingInfo(of: player, artwork: picture?.data))
        if let url, picture?.data == nil {
          // A picture that cannot be loaded is left out.
          let data = try? await player.artwork(at: url)
          picture = (url, data ?? Data())
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
