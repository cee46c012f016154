// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

extension ScreenModel {
  /// Takes over the state of a player.
  ///
  /// - Parameters:
  ///   - known: the facts about the items of its queue.
  ///   - now: the base for the remaining time of a sleep timer.
  mutating func show(
    _ state: PlayerState, known: [PlayQueue.Item.ID: KnownItem] = [:],
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
    details = [
      length == .live ? state.metadata.station : nil, state.metadata.artist ?? media?.artist,
      state.metadata.album ?? media?.album,
    ].compactMap(\.self).filter { !$0.isEmpty && $0 != title }
    map = isLocal ? CacheMap(cached: [0..<1]) : CacheMap(state)
    storedBytes = state.cacheProgress?.storedBytes
    totalBytes = state.cacheProgress?.length
    storedTime = state.streamProgress?.cachedDuration
    totalTime = state.streamProgress?.duration
    hitRatio = state.statistics.flatMap { statistics in
      let bytes = statistics.bytesFromDisk + statistics.bytesFromOrigin
      return bytes > 0 ? Double(statistics.bytesFromDisk) / Double(bytes) : nil
    }
    requests = state.statistics?.requests ?? 0
    tracks = ShownTracks(state)
    volume = state.volume
    isMuted = state.isMuted
    rate = state.rate
    repeatMode = RepeatMode(rawValue: state.queue.repeatMode.rawValue) ?? .off
    isShuffled = state.queue.isShuffled
    sleepTimer =
      switch state.sleepTimer {
      case nil: nil
      case .endOfItem: .endOfItem
      case .at(let time): .left(max(.zero, time - now))
      }
    let rows = state.queue.playOrder.enumerated().map { index, item in
      QueueList.Row(
        item, number: index + 1, isCurrent: item.id == state.item?.id,
        known[item.id] ?? KnownItem())
    }
    if rows != queue.rows { queue.rows = rows }
  }

  /// Returns the title from the media, else from a playlist, else the file's name.
  static func title(of media: Media, _ metadata: MediaMetadata) -> String {
    [metadata.streamTitle, metadata.title, media.title].compactMap(\.self).first { !$0.isEmpty }
      ?? URLArgument.name(of: media.url)
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
    self.init(
      id: item.id.rawValue, number: number,
      title: known.title ?? item.media.title ?? URLArgument.name(of: item.media.url),
      artist: known.artist ?? item.media.artist,
      duration: known.duration ?? item.media.duration, isCurrent: isCurrent,
      hasFailed: known.hasFailed, cached: known.cached)
  }
}
