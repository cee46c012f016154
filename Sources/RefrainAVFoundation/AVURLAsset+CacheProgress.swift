// SPDX-License-Identifier: MIT
import Foundation
public import Refrain

#if canImport(AVFoundation)
  public import AVFoundation
  public import CoreMedia
#else
  public import AVFoundationStandIn
#endif

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

  /// The statistics of the bytes given to AVFoundation so far; nil before the resource is opened,
  /// and for an asset that does not play through a cache.
  package var cacheStatistics: MediaReader.Statistics? {
    ResourceLoader.session(of: self)?.statistics
  }

  /// The error of AVFoundation's last request; nil if it succeeded. AVFoundation does not always
  /// pass on the error that it received.
  package var cacheFailure: MediaCacheError? { ResourceLoader.session(of: self)?.failure }
}
