// SPDX-License-Identifier: MIT
import Foundation

#if canImport(MediaPlayer)
  public import MediaPlayer
#else
  public import AVFoundationStandIn
#endif

/// Shows what plays on the lock screen, in Control Center and in cars, and hears what is pressed there.
///
/// One for an app: the system shows one thing at a time. On iOS it shows something only while the
/// audio session is active. Letting go of it takes its buttons away; `clear()` also what it shows.
@MainActor public final class NowPlaying {
  /// What somebody wants.
  public var onCommand: (@MainActor @Sendable (RemoteCommand) -> Void)? {
    didSet { commands.onCommand = onCommand }
  }

  /// Keeps it in step with a player.
  var following: Task<Void, Never>? {
    didSet { oldValue?.cancel() }
  }

  private let infoCenter: MPNowPlayingInfoCenter
  private let commands: RemoteCommandTargets
  private var shown: NowPlayingInfo?
  /// The elapsed time that the system was told, and when: it counts on by itself.
  private var anchor: (position: Duration, at: ContinuousClock.Instant)?
  private var artwork: (data: Data, value: MPMediaItemArtwork?)?
  /// The clock that elapsed time is told by.
  private let now: @MainActor () -> ContinuousClock.Instant
  /// The system's count may be off by so much: positions come some ten times a second.
  private static let tolerance = Duration.seconds(1)

  /// - Parameters:
  ///   - infoCenter: another than the app's where it has an `MPNowPlayingSession`.
  ///   - commandCenter: as above.
  ///   - skip: how far the buttons skip that some devices show in place of next and previous; nil:
  ///     there are none.
  ///   - rates: between which somebody may choose, in a car for instance.
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

  /// Shows it. May be called with every position: the system is told only what it does not count by
  /// itself.
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

  /// Shows nothing any more.
  public func clear() {
    (shown, anchor, artwork) = (nil, nil, nil)
    infoCenter.nowPlayingInfo = nil
    setState(.stopped)
  }

  /// On a Mac the state is told apart; elsewhere the system has it from the audio session.
  private func setState(_ state: MPNowPlayingPlaybackState) {
    #if os(macOS) || !canImport(MediaPlayer)
      infoCenter.playbackState = state
    #endif
  }

  /// Whether the system would show something else than this by itself.
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
