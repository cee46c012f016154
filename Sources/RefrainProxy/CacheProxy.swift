// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

/// A caching HTTP proxy in front of a `MediaCache`: any player plays through the cache by changing
/// its URL (`url(for:)`).
///
/// All methods may be called from any thread.
public final class CacheProxy: Sendable {
  let cache: MediaCache
  public let configuration: Configuration

  public init(cache: MediaCache, configuration: Configuration = Configuration()) {
    self.cache = cache
    self.configuration = configuration
  }
}
