// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

#if canImport(AVFoundation)
  public import AVFoundation
  public import CoreMedia
#else
  public import AVFoundationStandIn
#endif

extension MediaCache {
  /// Returns an asset that plays through this cache: stored bytes come from disk, missing ones are
  /// fetched once and stored.
  ///
  /// Pass it to an `AVPlayerItem` as it is. The cache serves it as long as the asset exists, and
  /// makes no request before AVFoundation asks for something. May be called on any thread.
  ///
  /// URLs other than http and https (files, above all) and HTTP Live Streams are left to
  /// AVFoundation: none of their bytes pass through the cache, and their requests may lack the
  /// resource's headers. The same holds for a resource without a length.
  ///
  /// A stream reaches the cache by another way: AVFoundation takes its playlists and keys from a
  /// delegate, but not its segments, so they have to come from a local proxy. `Player` of
  /// RefrainPlayer asks for the proxy's URL of each stream (`Player.Configuration.streams`).
  /// Without `Player`, create a plain `AVURLAsset` of the URL that `CacheProxy` of RefrainProxy
  /// has for the resource; `cacheProgress` of that asset ends at once.
  ///
  /// AVFoundation plays no DASH, whatever the way.
  ///
  /// - Parameters:
  ///   - resource: the URL, the headers of its requests (a token, for example, which AVPlayer
  ///     cannot send), and the key under which it is stored.
  ///   - options: the options of the asset, such as `AVURLAssetPreferPreciseDurationAndTimingKey`.
  ///   - fill: the fill policy beyond AVFoundation's requests, while the asset exists; nil:
  ///     `MediaCache.Configuration.fill`.
  ///   - challenges: called when AVFoundation, loading something itself, has to authenticate
  ///     itself. Challenges to the cache's own requests go to the handler of its transport.
  public func asset(
    for resource: Resource, options: [String: Any]? = nil, fill: FillPolicy? = nil,
    challenges: AuthenticationChallengeHandler? = nil
  ) -> AVURLAsset {
    guard let url = CachedURL.encoded(resource.url) else {
      return AVURLAsset(url: resource.url, options: options)
    }
    let asset = AVURLAsset(url: url, options: options)
    let loader = ResourceLoader(
      session: AssetSession(cache: self, resource: resource, fill: fill), url: url,
      challenges: challenges)
    loader.attach(to: asset)
    return asset
  }

  /// Returns an asset that plays through this cache, for a URL without headers or a key of its own.
  public func asset(
    for url: URL, options: [String: Any]? = nil, fill: FillPolicy? = nil
  ) -> AVURLAsset {
    asset(for: Resource(url: url), options: options, fill: fill)
  }
}

extension AVURLAsset {
  /// The stored part of this asset's resource, now and after each change, for a scrubber or a
  /// badge: at most ten times a second, until the consuming task is cancelled or the cache is
  /// closed. Ends at once for an asset that does not play through a cache.
  public var cacheProgress: AsyncStream<CacheProgress> {
    guard let session = ResourceLoader.session(of: self) else { return AsyncStream { nil } }
    return session.cache.progressUpdates(of: session.resource)
  }

  /// Returns the stored ranges as times of this asset's duration; nil for an asset that does not
  /// play through a cache. Empty while the length in bytes, or the duration, is unknown.
  ///
  /// - Throws: the cache's error, or the error of loading the duration.
  public func cachedTimeRanges() async throws -> [CMTimeRange]? {
    guard let session = ResourceLoader.session(of: self) else { return nil }
    let progress = try await session.cache.progress(of: session.resource)
    return progress.timeRanges(of: try await load(.duration))
  }
}

extension CacheProgress {
  /// Returns the stored ranges as times of media of this duration, as if every second took the same
  /// number of bytes: accurate enough for a scrubber, exact for PCM and constant bit rates.
  public func timeRanges(of duration: CMTime) -> [CMTimeRange] {
    guard let length, length > 0, duration.isNumeric, duration.seconds > 0 else { return [] }
    return spans.ranges.map { range in
      let start = time(range.lowerBound, length, duration)
      let end = time(range.upperBound, length, duration)
      return CMTimeRange(
        start: CMTime(value: start, timescale: duration.timescale),
        duration: CMTime(value: end - start, timescale: duration.timescale))
    }
  }

  private func time(_ offset: Int64, _ length: Int64, _ duration: CMTime) -> Int64 {
    guard offset < length else { return duration.value }
    // The rounded product may exceed the duration.
    return Int64(exactly: (Double(duration.value) * Double(offset) / Double(length)).rounded())
      .map { min($0, duration.value) } ?? duration.value
  }
}

/// Properties for a player that uses such assets.
extension AVURLAsset {
  /// Whether AVFoundation loads this asset through a delegate: its URL has no meaning elsewhere.
  package var hasDelegate: Bool { ResourceLoader.session(of: self) != nil }

  /// Whether AVFoundation receives this asset's bytes from the cache. False once AVFoundation is
  /// known to have to load them itself.
  package var isMediated: Bool { ResourceLoader.session(of: self)?.isRedirected == false }

  /// The statistics of the bytes given to AVFoundation so far; nil before the resource is opened.
  package var cacheStatistics: MediaReader.Statistics? {
    ResourceLoader.session(of: self)?.statistics
  }

  /// The error of AVFoundation's last request; nil if it succeeded. AVFoundation does not always
  /// pass on the error that it received.
  package var cacheFailure: MediaCacheError? { ResourceLoader.session(of: self)?.failure }
}
