// SPDX-License-Identifier: MIT
public import Refrain

/// A playback engine, such as libmpv or AVPlayer. Plays one item at a time, and prepares the one
/// that follows.
///
/// Every call but `close()` returns at once; its effects are reported as events. A call that does
/// not fit the current state (a seek while nothing plays) is ignored.
@MainActor
public protocol PlayerEngine: AnyObject, Sendable {
  /// The receiver of the engine's events. Set once, before any other call.
  var report: (@MainActor (EngineEvent) -> Void)? { get set }

  /// Plays an item in place of the current and the following one.
  ///
  /// - Parameters:
  ///   - item: the item to play.
  ///   - start: the position at which to begin: nothing before it is heard. An item that begins past
  ///     its end ends at once, after its `duration` was reported; a live stream plays as it arrives.
  ///   - isPaused: whether to wait there for `play()`.
  func load(_ item: EngineItem, at start: Duration, isPaused: Bool)

  /// Sets the item that plays after the current one, without a gap if the engine can; nil: none.
  /// Replaces the item of an earlier call. `load` and `stop` discard it.
  func follow(with item: EngineItem?)

  func play()
  func pause()

  /// Seeks to an exact position. Positions before the start lead to the start; past the end, the
  /// item ends. A live stream seeks only within its kept part (`EngineEvent.liveWindow`);
  /// without one, `EngineEvent.seekCompleted` reports where it is.
  ///
  /// - Parameters:
  ///   - position: the target of the seek.
  ///   - serial: grows with each seek; reported by `EngineEvent.seekCompleted`.
  func seek(to position: Duration, serial: Int)

  /// Sets the playback rate, within `Player.rates`; 1 is normal speed. The pitch is kept.
  func setRate(_ rate: Double)

  /// Sets the volume: 0 is silence, 1 the loudness of the media.
  func setVolume(_ volume: Double, isMuted: Bool)

  /// Sets the languages of the tracks with which the following items begin, where they have them.
  func prefer(_ languages: TrackLanguages)

  /// Selects a track of the current item, by which no stored byte is lost or fetched again; nil:
  /// none of the kind. The following item begins with its own selection.
  func select(_ track: MediaTrack.ID?, of kind: MediaTrack.Kind)

  /// Sets whether video is shown, of this and the following items.
  func setShowsVideo(_ showsVideo: Bool)

  /// Sends the sound to another device, by the engine's name for it; nil: the system's.
  func setAudioDevice(_ device: String?)

  /// Lets the engine's own window fill the screen, or no longer.
  func toggleFullscreen()

  /// Sets whether the engine's own window fills the screen. `EngineEvent.fullscreen` reports it once
  /// it does.
  func setFullscreen(_ isFullscreen: Bool)

  var capabilities: PlayerCapabilities { get }

  /// Ends playback; nothing more is reported of its items. The engine remains usable.
  func stop()

  /// Returns the statistics of the item's reading so far; nil if they are unknown: for a file, or
  /// an item that ended long ago.
  func statistics(of item: EngineItem.ID) -> MediaReader.Statistics?

  /// Ends playback and the engine. Returns when all its resources are released.
  func close() async
}

/// An engine without tracks, windows and devices.
extension PlayerEngine {
  public func prefer(_ languages: TrackLanguages) {}
  public func select(_ track: MediaTrack.ID?, of kind: MediaTrack.Kind) {}
  public func setShowsVideo(_ showsVideo: Bool) {}
  public func setAudioDevice(_ device: String?) {}
  public func toggleFullscreen() {}
  public func setFullscreen(_ isFullscreen: Bool) {}
  public var capabilities: PlayerCapabilities { PlayerCapabilities() }
}
