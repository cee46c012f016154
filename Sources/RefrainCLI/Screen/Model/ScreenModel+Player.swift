// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

extension ScreenModel {
  /// Takes over the state of a player, and its queue.
  ///
  /// - Parameters:
  ///   - known: the facts about the items of its queue.
  ///   - now: the base for the remaining time of a sleep timer.
  mutating func show(
    _ state: PlayerState, known: [PlayQueue.Item.ID: KnownItem] = [:],
    now: ContinuousClock.Instant = .now
  ) {
    showItem(of: state, known: known, now: now)
    showQueue(of: state, known: known)
  }

  /// Takes over the state of a player without its queue.
  mutating func showItem(
    of state: PlayerState, known: [PlayQueue.Item.ID: KnownItem],
    now: ContinuousClock.Instant = .now
  ) {
    status = Status(state.status)
    let media = state.item?.media
    let isLocal = media?.url.isFileURL == true
    self.isLocal = isLocal
    trouble = state.item.flatMap { known[$0.id]?.trouble }
    title = media.map { Self.title(of: $0, state.metadata) } ?? ""
    address = media.map { media in
      isLocal ? media.url.path(percentEncoded: false) : media.url.withoutUserInfo.absoluteString
    }
    // Seeks may land slightly before their target: 0:05 must not be shown as 0:04.
    position = state.position + .milliseconds(50)
    length = Length(state)
    rewound = Rewound(state)
    details = [
      length == .live ? state.metadata.station : nil,
      media?.artist ?? state.metadata.artist,
      media?.album ?? state.metadata.album,
    ].compactMap(\.self).reduce(into: [String]()) { details, text in
      // A feed states its title as the artist and as the album.
      if !text.isEmpty, text != title, !details.contains(text) { details.append(text) }
    }
    map = isLocal ? CacheMap(cached: [0..<1]) : CacheMap(state)
    storedBytes = state.cacheProgress?.storedBytes
    totalBytes = state.cacheProgress?.length
    storedTime = state.streamProgress?.cachedDuration
    totalTime = state.streamProgress?.duration
    hitRatio = state.statistics.flatMap { statistics in
      let bytes = statistics.bytesFromDisk + statistics.bytesFromOrigin
      return bytes > 0 ? Double(statistics.bytesFromDisk) / Double(bytes) : nil
    }
    // A stream is requested by the proxy.
    let isStream = state.streamProgress != nil || state.isLive && state.statistics == nil
    requests = isStream ? nil : state.statistics?.requests ?? 0
    tracks = ShownTracks(state)
    volume = state.volume
    isMuted = state.isMuted
    rate = state.rate
    repeatMode = state.queue.repeatMode
    isShuffled = state.queue.isShuffled
    sleepTimer =
      switch state.sleepTimer {
      case nil: nil
      case .endOfItem: .endOfItem
      case .at(let time): .left(max(.zero, time - now))
      }
  }

  /// Takes over the queue of a player, which takes time for a long one.
  mutating func showQueue(of state: PlayerState, known: [PlayQueue.Item.ID: KnownItem]) {
    let rows = state.queue.playOrder.enumerated().map { index, item in
      QueueList.Row(
        item, number: index + 1, isCurrent: item.id == state.item?.id,
        known[item.id] ?? KnownItem())
    }
    if rows != queue.rows { queue.rows = rows }
  }

  /// Returns the title of a live stream, else the one from a playlist, else from the media, else
  /// the file's name. A list knows the item better than the media: an episode's own title often
  /// says nothing.
  static func title(of media: Media, _ metadata: MediaMetadata) -> String {
    [metadata.streamTitle, media.title, metadata.title].compactMap(\.self)
      .first { !$0.isEmpty } ?? URLArgument.name(of: media.url)
  }
}

extension ScreenModel.Status {
  fileprivate init(_ status: PlaybackStatus) {
    self =
      switch status {
      case .idle: .idle
      case .loading: .loading
      case .playing: .playing
      case .paused: .paused
      case .ended: .ended
      case .buffering(.bytes): .buffering(.bytes)
      case .buffering(.seek): .buffering(.seek)
      case .buffering(.network(let error)): .buffering(.network(error.reason))
      case .failed(let error): .failed(reason: error.reason, remedy: error.remedy)
      }
  }
}

extension ScreenModel.Length {
  fileprivate init(_ state: PlayerState) {
    self = state.isLive ? .live : state.duration.map(Self.known) ?? .unknown
  }
}

extension ScreenModel.Rewound {
  fileprivate init?(_ state: PlayerState) {
    guard let window = state.liveWindow else { return nil }
    behind = state.shownBehindLive
    let length = window.end - window.start
    fraction =
      behind == nil || length <= .zero
      ? 1 : min(1, max(0, (state.position - window.start) / length))
  }
}

extension CacheMap {
  fileprivate init(_ state: PlayerState) {
    guard let duration = state.duration, duration > .zero else {
      self.init()
      return
    }
    func fractions(_ ranges: [Range<Duration>]) -> [Range<Double>] {
      ranges.map { range in
        let start = min(1, max(0, range.lowerBound / duration))
        return start..<max(start, min(1, range.upperBound / duration))
      }
    }
    self.init(
      cached: fractions(state.cachedRanges), fetching: fractions(state.fetchingRanges),
      buffered: fractions(state.bufferedRanges))
  }
}

extension QueueList.Row {
  fileprivate init(
    _ item: PlayQueue.Item, number: Int, isCurrent: Bool, _ known: KnownItem
  ) {
    let (media, name) = (item.media, URLArgument.name(of: item.media.url))
    self.init(
      id: item.id.rawValue, number: number,
      title: media.title ?? known.title ?? name, artist: media.artist ?? known.artist,
      album: media.album ?? known.album,
      duration: known.duration ?? media.duration, isCurrent: isCurrent,
      hasFailed: known.hasFailed, cached: known.cached)
    guard media.title != nil || known.title != nil else { return }
    // What is shown is found by itself.
    otherNames = [name, known.title, known.artist, known.album].compactMap(\.self)
    otherNames.removeAll { [title, artist, album].contains($0) }
  }
}
