// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

extension ProxyService {
  /// Returns what a resource is by the manifests that name it. The versions of a live playlist
  /// (`_HLS_msn`) belong to the stream of the playlist.
  func policy(of url: URL) -> ResourcePolicy {
    if let known = parts.policy(of: url) { return known }
    let playlist = url.withoutDeliveryDirectives
    return (playlist == url ? nil : parts.policy(of: playlist)) ?? .streams
  }

  /// Returns the key of the first manifest of the stream to which a manifest belongs: its own,
  /// unless another manifest has named it.
  ///
  /// - Parameter recorded: the stream in its record, which is known after a restart too.
  func stream(of manifest: URL, recorded: CacheKey?) -> CacheKey {
    policy(of: manifest).group?.first ?? recorded
      ?? cache.key(for: Resource(url: manifest.withoutDeliveryDirectives))
  }
}
