// SPDX-License-Identifier: MIT
import Foundation
import Refrain

extension ProxyService {
  /// Returns the stream to which a URL belongs, and what it is in it; nil if no manifest has named
  /// it. The versions of a live playlist (`_HLS_msn`) belong to the stream of the playlist.
  func membership(of url: URL) -> ResourcePolicy.Group? {
    if let known = parts.membership(of: url) { return known }
    let playlist = url.withoutDeliveryDirectives
    return playlist == url ? nil : parts.membership(of: playlist)
  }

  /// Returns the key of the first manifest of the stream to which a manifest belongs: its own,
  /// unless another manifest has named it.
  ///
  /// - Parameter recorded: the stream in its record, which is known after a restart too.
  func stream(of manifest: URL, recorded: CacheKey?) -> CacheKey {
    membership(of: manifest)?.first ?? recorded
      ?? cache.key(for: Resource(url: manifest.withoutDeliveryDirectives))
  }
}
