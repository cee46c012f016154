// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

/// A proxy as the handlers of its operator see it.
package struct OperatedProxy: Sendable {
  package let cache: MediaCache
  package let nodeName: String
  /// The only origin; nil if the proxy serves many, under a token.
  package let origin: URL?
  package let traffic: Traffic
  package let phase: ProxyPhase
  let routes: Routes
  let place: ProxyPlace
  /// The clients that are connected now, without the operator's.
  let connections: ConnectionCount
  let originFields: OriginFields
  let hits: CachedHits
  let invalidations: Invalidations
  let responses = SmallResponses()

  /// The number of clients connected now, without the operator.
  package var connectionCount: Int { connections.current }

  /// The beginning of the paths of the proxy itself: a slash and the token, or nothing.
  package var pathPrefix: String { routes.token.map { "/\($0)" } ?? "" }

  // MARK: URLs

  /// Returns the beginning of each proxy URL, with a trailing slash; nil before the proxy listens.
  ///
  /// - Parameter host: a Host of this machine by which the client has come, and comes again.
  package func base(reachedAs host: String?) -> String? {
    routes.base(listening: place.known, reachedAs: host)
  }

  /// Returns the proxy URL for a URL.
  ///
  /// - Parameter host: as for `base`.
  /// - Throws: as `CacheProxy.url(for:)`.
  package func url(for url: URL, reachedAs host: String? = nil) throws -> URL {
    try routes.proxied(url, listening: place.known, reachedAs: host)
  }

  /// Returns the resource that a client's request for a URL would open, to which the same hosts are
  /// allowed.
  ///
  /// - Throws: as `url(for:reachedAs:)`.
  package func resource(for url: URL) throws -> Resource {
    _ = try self.url(for: url)
    // A user and a password would be shown.
    var resource = Resource(url: url.withoutUserInfo, headers: originFields.forCache([:]))
    resource.filter = routes.filter(for: resource.url)
    return resource
  }

  /// Returns the origin's URL for a target or a URL, as the operator names it.
  ///
  /// - Throws: 400 for text that names nothing which this proxy serves.
  package func url(named text: String) throws(HTTPError) -> URL { try routes.url(named: text) }

  // MARK: Changes

  /// Removes entries in all their representations: no further request is answered with what the origin
  /// sent before.
  ///
  /// - Throws: `MediaCacheError`, `.storage`; `CancellationError`.
  package func purge(_ selection: PurgeSelection) async throws -> MediaCache.Removed {
    // Responses that were stored for credentials are confirmed before they are used.
    for key in selection.keys { invalidations.insert(key, at: cache.now.wall) }
    // Entries held for fast responses keep removed files. Some are removed even if others cannot be.
    defer {
      hits.releaseAll()
      responses.removeAll(at: cache.now.wall)
    }
    let purged = try await cache.purge(selection)
    for key in purged.resources { invalidations.insert(key, at: cache.now.wall) }
    return purged
  }
}
