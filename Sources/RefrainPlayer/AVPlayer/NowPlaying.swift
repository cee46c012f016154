// SPDX-License-Identifier: MIT
import Foundation

#if canImport(MediaPlayer)
  public import MediaPlayer
#else
  public import AVFoundationStandIn
#endif

/// Shows the current item on the lock screen, in Control Center and in cars, and receives the
/// commands given there.
///
/// Create one per app: the system shows one item at a time. iOS shows it only while the audio
/// session is active. Releasing this object removes the buttons; `clear()` removes the shown item.
@MainActor public final class NowPlaying {
  /// The receiver of remote commands.
  public var onCommand: (@MainActor @Sendable (RemoteCommand) -> Void)? {
    didSet { commands.onCommand = onCommand }
  }

  /// The task that keeps this in step with a player.
  var following: Task<Void, Never>? {
    didSet { oldValue?.cancel() }
  }

  private let infoCenter: MPNowPlayingInfoCenter
  private let commands: RemoteCommandTargets
  private var shown: NowPlayingInfo?
  /// The elapsed time last given to the system, and when: the system counts on from there.
  private var anchor: (position: Duration, at: ContinuousClock.Instant)?
  private var artwork: (data: Data, value: MPMediaItemArtwork?)?
  /// The clock that measures elapsed time.
  private let now: @MainActor () -> ContinuousClock.Instant
  /// The tolerated error of the system's count: positions arrive about ten times a second.
  private static let tolerance = Duration.seconds(1)

  /// - Parameters:
  ///   - infoCenter: the default, or that of the app's `MPNowPlayingSession`.
  ///   - commandCenter: likewise.
  ///   - skip: the distance of the skip buttons that some devices show in place of next and
  ///     previous; nil: no skip buttons.
  ///   - rates: the playback rates offered, in a car for example.
  public convenience init(
    infoCenter: MPNowPlayingInfoCenter = .default(),
    commandCenter: MPRemoteCommandCenter = .shared(), skip: Duration? = nil,
    rates: [Double] = [0.5, 1, 1.25, 1.5, 2]
  ) {
    self.init(
      infoCenter: infoCenter, commandCenter: commandCenter, skip: skip, rates: rates,
      now: { .now })
  }

  init(
    infoCenter: MPNowPlayingInfoCenter, commandCenter: MPRemoteCommandCenter, skip: Duration?,
    rates: [Double], now: @escaping @MainActor () -> ContinuousClock.Instant
  ) {
    self.infoCenter = infoCenter
    self.now = now
    commands = RemoteCommandTargets(commandCenter, skip: skip, rates: rates)
  }

  deinit { following?.cancel() }

  /// Shows `info`. May be called for every position: the system is updated only if its own count
  /// would differ.
  public func update(_ info: NowPlayingInfo) {
    guard shown == nil || differs(info) else {
      shown = info
      return
    }
    shown = info
    anchor = (info.position, now())
    let rateNow: Double = info.isPlaying ? info.rate : 0
    var entries: [String: Any] = [
      MPNowPlayingInfoPropertyElapsedPlaybackTime: info.position.inSeconds,
      MPNowPlayingInfoPropertyPlaybackRate: rateNow,
      MPNowPlayingInfoPropertyDefaultPlaybackRate: info.rate,
      MPNowPlayingInfoPropertyIsLiveStream: info.isLive,
      MPNowPlayingInfoPropertyMediaType:
        (info.isVideo ? MPNowPlayingInfoMediaType.video : .audio).rawValue,
    ]
    entries[MPMediaItemPropertyTitle] = info.title
    entries[MPMediaItemPropertyArtist] = info.artist
    entries[MPMediaItemPropertyAlbumTitle] = info.album
    entries[MPMediaItemPropertyPlaybackDuration] = info.duration?.inSeconds
    entries[MPNowPlayingInfoPropertyPlaybackQueueIndex] = info.queueIndex
    entries[MPNowPlayingInfoPropertyPlaybackQueueCount] = info.queueCount
    entries[MPMediaItemPropertyArtwork] = artwork(of: info)
    infoCenter.nowPlayingInfo = entries
    setState(info.isPlaying ? .playing : .paused)
    commands.allow(info)
  }

  /// Removes the shown item.
  public func clear() {
    (shown, anchor, artwork) = (nil, nil, nil)
    infoCenter.nowPlayingInfo = nil
    setState(.stopped)
  }

  /// Sets the playback state on macOS; elsewhere the system derives it from the audio session.
  private func setState(_ state: MPNowPlayingPlaybackState) {
    #if os(macOS) || !canImport(MediaPlayer)
      infoCenter.playbackState = state
    #endif
  }

  /// Returns whether the system, counting by itself, would show something other than `info`.
  private func differs(_ info: NowPlayingInfo) -> Bool {
    guard var shown, let anchor else { return true }
    shown.position = info.position
    guard shown == info else { return true }
    let counted =
      info.isPlaying
      ? anchor.position + (now() - anchor.at) * info.rate : anchor.position
    let difference = info.position - counted
    return difference > Self.tolerance || difference < .zero - Self.tolerance
  }

  private func artwork(of info: NowPlayingInfo) -> MPMediaItemArtwork? {
    guard let data = info.artwork else {
      artwork = nil
      return nil
    }
    if let artwork, artwork.data == data { return artwork.value }
    let value = MPMediaItemArtwork.picture(data)
    artwork = (data, value)
    return value
  }
}
