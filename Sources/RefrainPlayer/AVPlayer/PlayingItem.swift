// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainAVFoundation

#if canImport(AVFoundation)
  import AVFoundation
  import CoreGraphics
  import CoreMedia
#else
  import AVFoundationStandIn
#endif

/// An engine's item, its AVPlayer item, and the state last reported of it.
@MainActor final class PlayingItem {
  /// The state last reported; only changes are reported again.
  struct Told {
    var hasBegun = false
    var isReady = false
    var isLive = false
    /// Nil: not reported yet. Inner nil: the item has none.
    var duration: Duration??
    var buffered: [Range<Duration>] = []
    var waiting: WaitingReason?
    var metadata = MediaMetadata()
  }

  let item: EngineItem
  let asset: AVURLAsset
  let playerItem: AVPlayerItem
  var seeks: SeekRequests
  var told = Told()
  /// The state of a stop that nobody requested.
  var standstill = Standstill()
  private(set) var hasPlayedToEnd = false
  private(set) var endFailure: NSError?
  private let said: ItemMetadata
  private let notifications = NotificationObservers()
  private var observations: [NSKeyValueObservation] = []

  /// - Parameters:
  ///   - options: the options of the asset.
  ///   - onChange: called on any thread when something may have changed.
  init(
    _ item: EngineItem, from cache: MediaCache, options: [String: Any], start: Duration,
    onChange: @escaping @Sendable () -> Void
  ) {
    self.item = item
    asset = Self.asset(of: item, from: cache, options)
    playerItem = AVPlayerItem(asset: asset)
    seeks = SeekRequests(start: start)
    said = ItemMetadata(onChange: onChange)
    // Keeps the pitch, at a cost that a phone can sustain all day.
    playerItem.audioTimePitchAlgorithm = .timeDomain
    said.attach(to: playerItem)
    observe(onChange)
  }

  /// Returns an asset of a stream's own URL, because a delegate cannot provide its segments; of
  /// other remote media, one that reads through the cache.
  private static func asset(
    of item: EngineItem, from cache: MediaCache, _ options: [String: Any]
  ) -> AVURLAsset {
    guard item.streamURL == nil, let resource = item.media.resource else {
      return AVURLAsset(url: item.streamURL ?? item.media.url, options: options)
    }
    return cache.asset(for: resource, options: options, fill: item.fill)
  }

  private func observe(_ onChange: @escaping @Sendable () -> Void) {
    observations = [
      playerItem.observe(\.status) { @Sendable _, _ in onChange() },
      playerItem.observe(\.duration) { @Sendable _, _ in onChange() },
      playerItem.observe(\.presentationSize) { @Sendable _, _ in onChange() },
      playerItem.observe(\.loadedTimeRanges) { @Sendable _, _ in onChange() },
      playerItem.observe(\.isPlaybackBufferEmpty) { @Sendable _, _ in onChange() },
      playerItem.observe(\.isPlaybackBufferFull) { @Sendable _, _ in onChange() },
      playerItem.observe(\.isPlaybackLikelyToKeepUp) { @Sendable _, _ in onChange() },
    ]
    notifications.add(AVPlayerItem.didPlayToEndTimeNotification, of: playerItem) { [weak self] _ in
      onMainThread { self?.hasPlayedToEnd = true }
      onChange()
    }
    notifications.add(AVPlayerItem.failedToPlayToEndTimeNotification, of: playerItem) {
      [weak self] notification in
      let error = notification.userInfo?[AVPlayerItemFailedToPlayToEndTimeErrorKey] as? NSError
      onMainThread { self?.endFailure = error ?? NSError(domain: AVFoundationErrorDomain, code: 0) }
      onChange()
    }
    notifications.add(AVPlayerItem.playbackStalledNotification, of: playerItem) { [weak self] _ in
      onMainThread { self?.standstill.noteStall() }
      onChange()
    }
  }

  // MARK: How it is

  var isReadyToPlay: Bool { playerItem.status == .readyToPlay }

  /// The duration; nil while it is unknown, and for live streams.
  var duration: Duration? { isReadyToPlay ? Duration(playerItem.duration) : nil }

  /// Whether the item is a live stream, to which AVPlayer gives an indefinite duration once ready.
  var isLive: Bool { isReadyToPlay && playerItem.duration.isIndefinite }

  var position: Duration { max(Duration(playerItem.currentTime()) ?? .zero, .zero) }

  /// Whether the item is a stream that comes from this device itself, by a loopback address.
  var isFromThisDevice: Bool {
    guard let host = item.streamURL?.host() else { return false }
    return host.hasPrefix("127.") || ["localhost", "::1", "[::1]"].contains(host.lowercased())
  }

  /// Whether AVPlayer decides by itself when enough is loaded to play. AVFoundation measures its own
  /// connections, but knows no rate of a delegate's bytes and may wait long before it begins to play
  /// them. A film waits all the same: one that starts with too little stops again and again.
  var waitsByItself: Bool { !asset.isMediated || hasPictures }

  private var hasPictures: Bool { playerItem.presentationSize != .zero }

  /// Whether AVPlayer has enough bytes to play for a while.
  var canGoOn: Bool {
    playerItem.isPlaybackLikelyToKeepUp || playerItem.isPlaybackBufferFull || hasEnough
  }

  /// Whether enough is loaded ahead of the position, whatever AVPlayer predicts.
  var hasEnough: Bool { Standstill.isEnough(buffered, at: position, of: duration) }

  /// Whether the position is at the end, where a player stops by itself.
  var isAtEnd: Bool { duration.map { position + .milliseconds(100) >= $0 } ?? false }

  var buffered: [Range<Duration>] {
    playerItem.loadedTimeRanges.compactMap { value in
      let range = value.timeRangeValue
      guard let start = Duration(range.start), let end = Duration(range.end), start < end else {
        return nil
      }
      return start..<end
    }
  }

  /// The error because of which the item cannot be played, or not further.
  var failure: MediaCacheError? {
    guard playerItem.status == .failed || endFailure != nil else { return nil }
    return MediaCacheError(
      avFoundation: endFailure ?? playerItem.error, cacheFailure: asset.cacheFailure,
      playing: item.media.url)
  }

  /// The metadata read so far.
  var metadata: MediaMetadata {
    var metadata = said.metadata
    if hasPictures { metadata.isVideo = true }
    return metadata
  }

  /// Reads the metadata of the header, once.
  func loadMetadata() { said.load(from: asset) }
}
