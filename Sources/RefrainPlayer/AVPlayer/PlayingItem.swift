// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainAVFoundation

#if canImport(AVFoundation)
  import AVFoundation
  import CoreMedia
#else
  import AVFoundationStandIn
#endif

/// An engine's item, AVPlayer's item of it, and what was told of it so far.
@MainActor final class PlayingItem {
  /// What was told. Told again is only what has changed.
  struct Told {
    var hasBegun = false
    var isReady = false
    var isLive = false
    /// Nil: nothing was said of it. Nil within: it has none.
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
  /// What is known of a stop that nobody asked for.
  var standstill = Standstill()
  private(set) var hasPlayedToEnd = false
  private(set) var endFailure: NSError?
  private let said: ItemMetadata
  private let notifications = NotificationObservers()
  private var observations: [NSKeyValueObservation] = []

  /// - Parameters:
  ///   - options: the asset's own.
  ///   - onChange: called on any thread when something may be otherwise than it was.
  init(
    _ item: EngineItem, from cache: MediaCache, options: [String: Any], start: Duration,
    onChange: @escaping @Sendable () -> Void
  ) {
    self.item = item
    asset =
      item.media.resource.map { cache.asset(for: $0, options: options, fill: item.fill) }
      ?? AVURLAsset(url: item.media.url, options: options)
    playerItem = AVPlayerItem(asset: asset)
    seeks = SeekRequests(start: start)
    said = ItemMetadata(onChange: onChange)
    // Keeps the pitch, at a cost that a phone bears all day long.
    playerItem.audioTimePitchAlgorithm = .timeDomain
    said.attach(to: playerItem)
    observe(onChange)
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

  /// Nil while it is unknown, and of what has no end.
  var duration: Duration? { isReadyToPlay ? Duration(playerItem.duration) : nil }

  /// Whether it has no end: AVPlayer says so of a live stream once it is ready.
  var isLive: Bool { isReadyToPlay && playerItem.duration.isIndefinite }

  var position: Duration { max(Duration(playerItem.currentTime()) ?? .zero, .zero) }

  /// Whether AVPlayer has enough to go on for a while.
  var canGoOn: Bool { playerItem.isPlaybackLikelyToKeepUp || playerItem.isPlaybackBufferFull }

  /// Whether it is at its end, where a player stops by itself.
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

  /// Why it cannot be played, or not further.
  var failure: MediaCacheError? {
    guard playerItem.status == .failed || endFailure != nil else { return nil }
    return MediaCacheError(
      avFoundation: endFailure ?? playerItem.error, cacheFailure: asset.cacheFailure,
      playing: item.media.url)
  }

  /// What it says of itself, as far as it was read.
  var metadata: MediaMetadata {
    var metadata = said.metadata
    if playerItem.presentationSize != .zero { metadata.isVideo = true }
    return metadata
  }

  /// Reads what the media says of itself. Once.
  func loadMetadata() { said.load(from: asset) }
}
