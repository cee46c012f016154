// SPDX-License-Identifier: MIT
public import Refrain

/// What turns bytes into sound: libmpv, AVPlayer. One item at a time, and the one that follows on it.
///
/// Every call returns at once; what comes of it is told by events. A call that does not fit what goes
/// on (a seek where nothing plays) is passed over.
@MainActor
public protocol PlayerEngine: AnyObject, Sendable {
  /// Where it tells what happens. Set once, before anything else is called.
  var report: (@MainActor (EngineEvent) -> Void)? { get set }

  /// Plays an item in place of all that there is.
  ///
  /// - Parameters:
  ///   - start: where to begin: nothing before it is heard. An item that begins past its end ends at
  ///     once, after its `duration` was reported; a live stream plays as it comes.
  ///   - isPaused: whether to wait there for `play()`.
  func load(_ item: EngineItem, at start: Duration, isPaused: Bool)

  /// What plays when the current item has ended, without a gap where the engine can; nil: nothing.
  /// Takes the place of what was said before. A `load` or `stop` forgets it.
  func follow(with item: EngineItem?)

  func play()
  func pause()

  /// Goes to a position, exactly. Before the start is the start; past the end, the item ends. In a
  /// live stream nothing happens, and `sought` reports where it is.
  ///
  /// - Parameter serial: grows with each seek; comes back in `EngineEvent.sought`.
  func seek(to position: Duration, serial: Int)

  /// 1 is as it was recorded, within 0.5…3; the pitch is kept.
  func setRate(_ rate: Double)

  /// 0 is silence, 1 the loudness of the media.
  func setVolume(_ volume: Double, isMuted: Bool)

  /// Ends what plays; nothing more is told of it. The engine stays ready.
  func stop()

  /// What the item was given so far; nil where it is unknown: of a file, or of an item that is long
  /// over.
  func statistics(of item: EngineItem.ID) -> MediaReader.Statistics?

  /// Ends what plays, and the engine. Returns when all that it held is let go.
  func close() async
}
