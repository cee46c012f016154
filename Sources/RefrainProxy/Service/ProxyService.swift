// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain
import RefrainLocks
import RefrainStreams

/// What the responses of a proxy share, for its operator's handlers too.
package final class ProxyService: Sendable {
  package let cache: MediaCache
  let rules: ServingRules
  let routes: Routes
  package let phase = ProxyPhase()
  package let traffic = Traffic()
  let log: RequestLog
  /// The clients that are connected now, without the operator's.
  let connections: ConnectionCount
  let fields: AnswerFields
  let originFields: OriginFields
  let cachePolicy: CachePolicy
  let hits = CachedHits()
  /// Keys found not to be cacheable, which are relayed without another attempt.
  let uncacheable = RecentNotes<CacheKey, Uncacheable>(capacity: 4096, patience: 120)
  let invalidations: Invalidations
  let responses = SmallResponses()
  let fills: BackgroundFills
  let sessions: StreamSessions
  let parts = KnownParts()
  let rewritten = RewrittenManifests()
  let chains = VariantChains()
  let listings = LiveListings()
  /// Whether origins could be reached, as the requests for manifests have shown.
  let reached = RecentNotes<WebOrigin, Bool>(capacity: 256, patience: 10)

  init(
    _ rules: ServingRules, _ routes: Routes, cache: MediaCache, log: RequestLog,
    connections: ConnectionCount, headers: HeaderFields, nodeName: String, token: String?
  ) {
    let isForManyOrigins = rules.origin == nil
    (self.rules, self.routes, self.cache) = (rules, routes, cache)
    (self.log, self.connections) = (log, connections)
    fields = AnswerFields(
      isForManyOrigins: isForManyOrigins, allowedWebOrigin: rules.allowedWebOrigin, node: nodeName)
    let number = String(UInt32.random(in: .min ... .max), radix: 36)
    originFields = OriginFields(
      own: headers, isForManyOrigins: isForManyOrigins, viaName: "\(nodeName)-\(number)",
      isShared: !isForManyOrigins || cache.isShared)
    cachePolicy = cache.isShared ? .shared : .personal
    invalidations = Invalidations(since: cache.now.wall)
    fills = BackgroundFills(cache: cache)
    // A random token is not that of the next proxy.
    sessions = StreamSessions(cache, token: isForManyOrigins ? token : nil)
  }

  package var nodeName: String { fields.node }

  /// The only origin; nil if the proxy serves many, under a token.
  package var origin: URL? { rules.origin }

  /// The number of clients connected now, without the operator.
  package var connectionCount: Int { connections.current }

  /// The beginning of the paths of the proxy itself: a slash and the token, or nothing.
  package var pathPrefix: String { routes.token.map { "/\($0)" } ?? "" }

  // MARK: URLs

  /// Returns the beginning of each proxy URL, with a trailing slash; nil before the port is
  /// known.
  ///
  /// - Parameter host: a Host of this machine by which the client has come, and comes again.
  package func base(reachedAs host: String?) -> String? {
    routes.base(reachedAs: host)
  }

  /// Returns the proxy URL for a URL.
  ///
  /// - Parameter host: as for `base`.
  /// - Throws: as `CacheProxy.url(for:)`.
  package func url(for url: URL, reachedAs host: String? = nil) throws -> URL {
    try routes.proxied(url, reachedAs: host)
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
  package func purge(_ selection: PurgeSelection) async throws -> RemovedEntries {
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

  // MARK: Streams

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

  func noteOrigin(of url: URL, isReached: Bool) {
    guard let origin = WebOrigin(url) else { return }
    reached.insert(isReached, on: origin, at: cache.now.uptime)
  }

  /// Whether the last attempt has reached the origin of a URL; nil if there was none lately.
  func hasReachedOrigin(of url: URL) -> Bool? {
    WebOrigin(url).flatMap { reached.note(on: $0, at: cache.now.uptime) }
  }
}

/// Why a response is not stored.
enum Uncacheable: Sendable {
  /// The origin forbids it.
  case notStorable
  /// It has a content coding, of which no ranges are requested.
  case encoded
}

/// How far a proxy is from its end.
package final class ProxyPhase: Sendable {
  private let stopping = Atomic(false)
  private let draining = Atomic(false)

  /// Whether the proxy ends.
  package var isStopping: Bool { stopping.load(ordering: .relaxed) }

  /// Whether the proxy serves, but reports that it is about to end.
  package var isDraining: Bool { draining.load(ordering: .relaxed) }

  /// Whether connections end with the responses under way: their clients are to go elsewhere.
  package var isEnding: Bool { isStopping || isDraining }

  func drain() { draining.store(true, ordering: .relaxed) }

  func stop() { stopping.store(true, ordering: .relaxed) }
}
