// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

/// A live stream (HLS) that a local proxy records while it plays, as a player uses it
/// (`Player.Configuration.recordStream`): the closures are those of `StreamRecording` of
/// RefrainProxy, with times as durations. They are called on any thread, and must not block.
public final class RecordedStream: Sendable, Hashable {
  /// The URL from which the stream plays: its playlists begin with a segment, and grow.
  public let url: URL
  let window: @Sendable () -> LiveWindow?
  let start: @Sendable () -> Duration?
  let begin: @Sendable (Duration?) -> Duration?
  let failure: @Sendable () -> MediaCacheError?
  let stop: @Sendable () -> Void

  /// - Parameters:
  ///   - url: see `url`.
  ///   - window: returns the times that can be played; nil while nothing is recorded, and for a
  ///     stream that is not live.
  ///   - start: returns the time at which the playlists begin.
  ///   - begin: has the playlists begin with the segments at a time, or near the present (nil), and
  ///     returns the time at which they begin. The URL is loaded again afterwards.
  ///   - failure: returns why the origin cannot be reached at present.
  ///   - stop: ends the recording. Called once the player no longer needs it.
  public init(
    url: URL, window: @escaping @Sendable () -> LiveWindow?,
    start: @escaping @Sendable () -> Duration?,
    begin: @escaping @Sendable (_ time: Duration?) -> Duration?,
    failure: @escaping @Sendable () -> MediaCacheError? = { nil },
    stop: @escaping @Sendable () -> Void
  ) {
    self.url = url
    self.window = window
    self.start = start
    self.begin = begin
    self.failure = failure
    self.stop = stop
  }

  public static func == (left: RecordedStream, right: RecordedStream) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
