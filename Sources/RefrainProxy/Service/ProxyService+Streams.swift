// SPDX-License-Identifier: MIT
import Foundation
import Refrain

extension ProxyService {
  /// Returns the key of the first manifest of the stream to which a manifest belongs: its own,
  /// unless another manifest has named it.
  ///
  /// - Parameter recorded: the stream in its record, which is known after a restart too.
  func stream(of manifest: URL, recorded: CacheKey?) -> CacheKey {
    parts.membership(of: manifest)?.stream ?? recorded ?? cache.key(for: Resource(url: manifest))
  }
}
