// SPDX-License-Identifier: MIT
import Foundation
public import Observation
public import Refrain
import RefrainAVFoundation

#if canImport(AVFoundation)
  public import AVFoundation
  import CoreMedia
#else
  public import AVFoundationStandIn
#endif

/// Plays audio and video through a cache with AVPlayer, with AirPlay and without gaps between
/// items.
///
/// http and https media play through the cache, files directly. HTTP Live Streams play from their
/// `EngineItem.streamURL`; without one they play, too, but are not cached. AVPlayer plays no DASH.
@MainActor public final class AVPlayerEngine: PlayerEngine {
  public var report: (@MainActor (EngineEvent) -> Void)?

  /// The player, for a `VideoPlayer`, an `AVPlayerLayer` or an AirPlay button. Changes from outside
  /// (a pause in a `VideoPlayer`) are reported as the system's. The items in it belong to the
  /// engine.
  ///
  /// Replaced when the system's media services were reset, or the player failed. SwiftUI and
  /// `withObservationTracking` observe that.
  public var player: AVQueuePlayer {
    registrar.access(self, keyPath: \.player)
    return heldPlayer
  }

  /// Whether durations and seeks are exact for files that do not map times to bytes, such as MP3 of
  /// a variable bit rate (`AVURLAssetPreferPreciseDurationAndTimingKey`). AVFoundation may then
  /// read the whole file before it is ready. Applies to items loaded afterwards.
  public var prefersPreciseTiming = false

  private let registrar = ObservationRegistrar()
  private let cache: MediaCache
  let audio: AudioSession?
  private(set) var heldPlayer = AVQueuePlayer()
  private var observation: PlayerObservation?

  // The wanted state.
  var isPlaying = false
  private(set) var rate = 1.0
  private var volume = 1.0
  private var isMuted = false

  // The actual state.
  var current: PlayingItem?
  var next: PlayingItem?
  /// Whether the rate was set on the player since the last load, play or pause.
  var isDriven = false
  var halt = Halt.none
  /// The events to report, in this order, once the current call has returned.
  var pending: [EngineEvent] = []
  var isLookComing = false
  /// The pass that is scheduled for a later time.
  var wake: (time: ContinuousClock.Instant, task: Task<Void, Never>)?
  var ownRateChanges = OwnRateChanges()
  private(set) var isClosed = false
  /// The statistics of the item before the current one.
  private var last: (id: EngineItem.ID, statistics: MediaReader.Statistics)?

  /// The cause of a pause that the listener did not request.
  enum Halt {
    case none
    /// The system, which gave no reason.
    case system
    /// An interruption, after which playback may resume.
    case interruption
  }

  /// - Parameters:
  ///   - cache: the cache for http and https media.
  ///   - audioSession: whether the engine or the app manages `AVAudioSession`.
  public convenience init(cache: MediaCache, audioSession: AudioSessionControl = .engine) {
    self.init(cache: cache, audio: .ofApp(audioSession))
  }

  init(cache: MediaCache, audio: AudioSession?) {
    self.cache = cache
    self.audio = audio
    audio?.onChange = { [weak self] in self?.audioChanged($0) }
    adoptPlayer()
  }

  // MARK: Items

  public func load(_ item: EngineItem, at start: Duration, isPaused: Bool) {
    guard !isClosed else { return }
    clear()
    isPlaying = !isPaused
    begin(playing(item, at: start))
    if isPlaying { audio?.activate() }
    lookSoon()
  }

  public func follow(with item: EngineItem?) {
    // The player may have advanced to the previous `next`: this item then follows that one.
    advance()
    guard let current, next?.item != item else { return }
    if let next { heldPlayer.remove(next.playerItem) }
    next = nil
    guard let item else { return }
    let following = playing(item)
    guard heldPlayer.canInsert(following.playerItem, after: current.playerItem) else { return }
    heldPlayer.insert(following.playerItem, after: current.playerItem)
    next = following
    lookSoon()
  }

  private func playing(_ item: EngineItem, at start: Duration = .zero) -> PlayingItem {
    PlayingItem(
      item, from: cache,
      options: [AVURLAssetPreferPreciseDurationAndTimingKey: prefersPreciseTiming], start: start,
      onChange: changed)
  }

  private func begin(_ playing: PlayingItem) {
    current = playing
    suit(playing)
    heldPlayer.insert(playing.playerItem, after: nil)
  }

  /// Configures the player for an item and the source of its bytes. An AirPlay video receiver loads
  /// the URL itself, and cannot use a delegate or a proxy that only this device reaches; visionOS has
  /// no such property.
  func suit(_ playing: PlayingItem) {
    heldPlayer.automaticallyWaitsToMinimizeStalling = playing.waitsByItself
    #if !os(visionOS)
      heldPlayer.allowsExternalPlayback = !playing.asset.hasDelegate && !playing.isFromThisDevice
    #endif
  }

  /// Releases all items; nothing more is reported of them.
  func clear() {
    remember()
    (current, next) = (nil, nil)
    (isPlaying, isDriven, halt) = (false, false, .none)
    pending = []
    wake?.task.cancel()
    wake = nil
    setPlayerRate(0)
    heldPlayer.removeAllItems()
  }

  func remember() {
    guard let current, let statistics = current.asset.cacheStatistics else { return }
    last = (current.item.id, statistics)
  }

  public func stop() {
    clear()
    audio?.deactivate()
  }

  public func close() async {
    guard !isClosed else { return }
    stop()
    isClosed = true
    report = nil
    observation = nil
    audio?.onChange = nil
  }

  public func statistics(of item: EngineItem.ID) -> MediaReader.Statistics? {
    for playing in [current, next] {
      if let playing, playing.item.id == item { return playing.asset.cacheStatistics }
    }
    return last?.id == item ? last?.statistics : nil
  }

  // MARK: Playing

  public func play() {
    guard current != nil else { return }
    (isPlaying, isDriven, halt) = (true, false, .none)
    audio?.activate()
    lookSoon()
  }

  public func pause() {
    (isPlaying, isDriven, halt) = (false, false, .none)
    setPlayerRate(0)
    lookSoon()
  }

  public func seek(to position: Duration, serial: Int) {
    guard let current else { return }
    current.seeks.ask(position, serial: serial)
    lookSoon()
  }

  public func setRate(_ rate: Double) {
    self.rate = rate.limited(to: Player.rates)
    heldPlayer.defaultRate = Float(self.rate)
    if heldPlayer.rate != 0 { setPlayerRate(Float(self.rate)) }
    observation?.setRate(self.rate)
  }

  public func setVolume(_ volume: Double, isMuted: Bool) {
    (self.volume, self.isMuted) = (min(max(volume, 0), 1), isMuted)
    heldPlayer.volume = Float(self.volume)
    heldPlayer.isMuted = isMuted
  }

  // MARK: The player

  /// Observes the player, and applies the settings of the previous one.
  private func adoptPlayer() {
    heldPlayer.actionAtItemEnd = .advance
    observation = PlayerObservation(
      heldPlayer, onChange: changed, onStop: { [weak self] in self?.stopped(by: $0) },
      onTime: { [weak self] in self?.timePassed(to: $0) })
    setRate(rate)
    setVolume(volume, isMuted: isMuted)
  }

  /// Replaces the player, which is invalid with every item in it.
  func replacePlayer() {
    isDriven = false
    ownRateChanges = OwnRateChanges()
    registrar.withMutation(of: self, keyPath: \.player) {
      heldPlayer.removeAllItems()
      heldPlayer = AVQueuePlayer()
    }
    adoptPlayer()
  }

  /// Reloads the current item in the new player, at its previous position.
  func restart() {
    guard let before = current else { return }
    let after = next?.item
    let again = playing(before.item)
    again.told = before.told
    again.seeks = before.seeks
    again.seeks.restart(at: before.position)
    next = nil
    begin(again)
    follow(with: after)
    lookSoon()
  }
}

extension AVPlayerEngine: Observable {}
