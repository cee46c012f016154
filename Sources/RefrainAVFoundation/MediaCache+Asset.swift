// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

#if canImport(AVFoundation)
  public import AVFoundation
#else
  public import AVFoundationStandIn
#endif

extension MediaCache {
  /// An asset that plays through this cache: what is stored comes from disk, what is missing is
  /// fetched once, and stays.
  ///
  /// Give it to an `AVPlayerItem` as it is. The cache's part lives as long as the asset does, and
  /// makes no request before AVFoundation asks for something. URLs that are not http or https (files,
  /// above all), and HTTP Live Streams, are handed to AVFoundation untouched: no byte of them passes
  /// through the cache, and no header of the resource goes with them. May be called on any thread.
  ///
  /// - Parameters:
  ///   - resource: the URL, the headers of its requests (a token, say, that AVPlayer cannot send),
  ///     and the key that it is kept under.
  ///   - options: the asset's own, such as `AVURLAssetPreferPreciseDurationAndTimingKey`.
  ///   - fill: what is fetched beyond what AVFoundation asks for, while the asset lives; nil:
  ///     `Configuration.fill`.
  ///   - challenges: is asked where AVFoundation, loading something by itself, is asked to
  ///     authenticate itself. Those of the cache's own requests go to its transport's handler.
  public func asset(
    for resource: Resource, options: [String: Any]? = nil, fill: FillPolicy? = nil,
    challenges: URLSessionTransport.ChallengeHandler? = nil
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

  /// As above, for a URL that needs nothing else.
  public func asset(
    for url: URL, options: [String: Any]? = nil, fill: FillPolicy? = nil
  ) -> AVURLAsset {
    asset(for: Resource(url: url), options: options, fill: fill)
  }
}
