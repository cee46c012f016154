// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

#if canImport(AVFoundation)
  public import AVFoundation
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
