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

/// Plays through a cache with AVPlayer: sound and pictures, AirPlay, gapless from item to item.
///
/// http and https media come by way of the cache, files from where they are. HTTP Live Streams play,
/// and are not cached.
@MainActor public final class AVPlayerEngine: PlayerEngine {
  public var report: (@MainActor (EngineEvent) -> Void)?

  /// For a `VideoPlayer`, an `AVPlayerLayer`, an AirPlay button. What is done to it from outside
  /// (somebody presses pause in a `VideoPlayer`) is told as the system's doing. Its items are the
  /// engine's.
  ///
  /// It is another one once the system's media services were reset; whoever reads this in SwiftUI, or
  /// under `withObservationTracking`, is told.
  public var player: AVQueuePlayer {
    registrar.access(self, keyPath: \.player)
    return heldPlayer
  }

  /// Whether durations and seeks are exact where a file does not say which byte belongs to which
  /// time, as MP3 of a variable bit rate does not (`AVURLAssetPreferPreciseDurationAndTimingKey`).
  /// AVFoundation may then read all of a file before it is ready. Concerns items that are loaded from
  /// then on.
  public var prefersPreciseTiming = false

  private let registrar = ObservationRegistrar()
  private let cache: MediaCache
  let audio: AudioSession?
  private(set) var heldPlayer = AVQueuePlayer()
  private var observation: PlayerObservation?

  // What is wanted.
  var isPlaying = false
  private(set) var rate = 1.0
  private var volume = 1.0
  private var isMuted = false

  // What goes on.
  var current: PlayingItem?
  var next: PlayingItem?
  /// Whether the player was told the rate since the last load, play or pause.
  var isDriven = false
  var halt = Halt.none
  /// To be told, in that order, once whoever called has returned.
  var pending: [EngineEvent] = []
  var isLookComing = false
  /// A look that comes by itself.
  var wake: (time: ContinuousClock.Instant, task: Task<Void, Never>)?
  var ownRateChanges = OwnRateChanges()
  private(set) var isClosed = false
  /// Of the item before the current one.
  private var last: (id: EngineItem.ID, statistics: MediaReader.Statistics)?

  /// Who paused, where it was not the listener.
  enum Halt {
    case none
    /// Nobody who said so.
    case system
    /// An interruption, after which it goes on.
    case interruption
  }

  /// - Parameter audioSession: who looks after `AVAudioSession`.
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
    // The queue may have gone on to what was to follow: then this follows on that.
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

  /// Sets up the player for where the bytes of an item come from. AVFoundation measures its own
  /// connections, and may wait for long before it begins with what a delegate gives it, of which it
  /// knows no rate. A receiver of AirPlay video loads the URL by itself, and knows no delegate.
  func suit(_ playing: PlayingItem) {
    heldPlayer.automaticallyWaitsToMinimizeStalling = !playing.asset.isMediated
    heldPlayer.allowsExternalPlayback = !playing.asset.hasDelegate
  }

  /// Lets go of all items; nothing more is told of them.
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
    self.rate = min(max(rate, 0.5), 3)
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

  /// Watches the player, and gives it what was wanted of the one before.
  private func adoptPlayer() {
    heldPlayer.actionAtItemEnd = .advance
    observation = PlayerObservation(
      heldPlayer, onChange: changed, onStop: { [weak self] in self?.stopped(by: $0) },
      onTime: { [weak self] in self?.timePassed(to: $0) })
    setRate(rate)
    setVolume(volume, isMuted: isMuted)
  }

  /// The player, and every item in it, is void: another takes its place.
  func replacePlayer() {
    isDriven = false
    ownRateChanges = OwnRateChanges()
    registrar.withMutation(of: self, keyPath: \.player) {
      heldPlayer.removeAllItems()
      heldPlayer = AVQueuePlayer()
    }
    adoptPlayer()
  }

  /// Goes on where it was, in the player that there is now.
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
