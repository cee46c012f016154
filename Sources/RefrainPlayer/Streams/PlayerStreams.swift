// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

/// The support for streams (HLS, DASH) that play through the cache. `PlayerStreams(url:)` of
/// RefrainPlayerStreams creates it: an app without streams builds no parsers of their manifests.
public struct PlayerStreams: Sendable {
  package let support: any StreamSupport

  package init(_ support: any StreamSupport) { self.support = support }
}

/// The variant of a stream that an engine selects by itself.
package enum PreferredVariant: Sendable, Hashable {
  /// The first one in the manifest, with which AVPlayer begins.
  case first
  /// The highest peak bit rate that is not above this one.
  case near(Int64)
  /// The highest peak bit rate, without pictures if the sound has a playlist of its own: what
  /// libmpv plays.
  case soundOfHighest
}

/// The part of a player that reads manifests.
package protocol StreamSupport: Sendable {
  /// Returns the URL from which the engine plays a stream.
  func url(for stream: Resource) async throws -> URL

  /// Returns the kind of stream that the resource is; nil: none. A manifest's bytes come through the
  /// cache and stay in it, so the engine's request for them fetches nothing again.
  ///
  /// - Parameter isRetried: whether an engine could not open the stream a moment ago, so that its
  ///   stored playlists are looked at too.
  /// - Throws: `MediaCacheError`, if the resource cannot be read, is a damaged manifest, or is a
  ///   playlist that leads back to itself; `CancellationError`.
  func kind(
    of resource: Resource, in cache: MediaCache, isRetried: Bool
  ) async throws -> StreamKind?

  /// Returns the kind of stream that a stored resource is; nil: none. Makes no request.
  ///
  /// - Throws: `MediaCacheError`, if it is a playlist that leads back to itself.
  func storedKind(
    of resource: Resource, in cache: MediaCache, isRetried: Bool
  ) async throws -> StreamKind?

  /// Fetches media before it plays: of a stream, its playlists and segments.
  ///
  /// - Parameter limit: the number of bytes of media to fetch; nil: all.
  /// - Throws: `MediaCacheError`; `CancellationError`.
  func prefetch(
    _ resource: Resource, _ variant: PreferredVariant, limit: Int64?, into cache: MediaCache
  ) async throws

  /// Follows a stream until the returned object is released.
  ///
  /// - Parameters:
  ///   - stream: its manifest.
  ///   - isSoundOnly: whether the engine plays no pictures.
  ///   - report: receives nil while nothing is known, and for live streams.
  func follow(
    _ stream: Resource, in cache: MediaCache, isSoundOnly: Bool,
    report: @escaping @MainActor (StreamProgress?) -> Void
  ) -> any StreamFollowing
}

/// What is known of a stream that plays.
package protocol StreamFollowing: AnyObject, Sendable {
  /// The stream's manifest.
  var resource: Resource { get }

  /// What was reported last.
  var progress: StreamProgress? { get }

  /// The peak bit rate of the variant that plays; nil while it is unknown.
  var bandwidth: Int64? { get }

  /// Whether a playlist of a live stream states that nothing follows.
  var hasEnded: Bool { get }

  /// Grows whenever a live playlist is read for the first time, has changed, or could not be
  /// reached and is not stored; nil: none was read.
  var liveChanges: Int? { get }

  /// The longest target duration of the live playlists; nil: none was read.
  var liveTarget: Duration? { get }

  /// When the origin last sent or confirmed each of the live playlists, as they were read last.
  var liveAnswers: [Uptime] { get }

  /// Reads the live playlists again soon: no event reports that the origin has confirmed them.
  func readLiveAgain()

  /// Returns the error because of which the stream cannot play on from a position, however often
  /// it is tried: the origin does not have its segments. Nil if other segments failed because of
  /// the network, or none failed.
  func permanentFailure(after position: Duration) -> MediaCacheError?
}
