// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

/// A stored manifest.
package typealias StoredManifest = StoredBody

/// Looks at stored streams. Makes no request.
extension MediaCache {
  /// Returns the stored amounts of parts, in their order.
  ///
  /// - Parameter request: returns the resource by which a part is requested: of several
  ///   representations, the amount is that of the one which its headers select. Nil: of any.
  /// - Throws: `CancellationError`.
  package func storedAmounts(
    of parts: [StreamPlan.Part],
    requestedBy request: (@Sendable (StreamPlan.Part) -> Resource)? = nil
  ) async throws -> [StoredAmount] {
    try await storedAmounts(of: parts.count) { index in
      let part = parts[index]
      let resource = request?(part)
      let key = self.key(for: resource ?? Resource(url: part.url))
      return (key, resource?.headers, part.range)
    }
  }

  /// Returns the manifest stored under a key; nil if it is not complete, or too long for one.
  package func storedManifest(for key: CacheKey) async -> StoredManifest? {
    await storedBody(for: key, longest: Manifest.longest)
  }

  /// Returns the manifest stored under the key of a URL, if clients can reach it there without a
  /// request: it is also stored under its URL after redirects, if that is needed.
  package func storedManifest(at url: URL) async -> StoredManifest? {
    guard let manifest = await storedManifest(for: key(for: Resource(url: url))) else { return nil }
    guard isNeeded(at: manifest.url, besides: url) else { return manifest }
    return await storedManifest(for: key(for: Resource(url: manifest.url)))
  }

  /// Whether a manifest that is stored under a URL is also needed under that after redirects, to
  /// which proxies redirect clients: its references are relative to it.
  ///
  /// Not if the URLs differ in their queries alone, for which nobody is redirected: the references
  /// are the same. Keys ignore parts of the query alone. Not if the
  /// user's own rule gives both URLs one key either: that entry serves both.
  package func isNeeded(at final: URL, besides url: URL) -> Bool {
    final.withoutQuery != url.withoutQuery
      && key(for: Resource(url: final)) != key(for: Resource(url: url))
  }
}

extension URL {
  fileprivate var withoutQuery: Substring {
    withoutUserInfo.absoluteString.prefix { $0 != "?" && $0 != "#" }
  }
}
