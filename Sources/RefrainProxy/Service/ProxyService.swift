// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain
import RefrainLocks
import RefrainStreams

/// What the responses of a proxy share, for its operator's handlers too.
package final class ProxyService: Sendable {
  package let cache: MediaCache
  let rules: ServingRules
  package let routes: Routes
  package let traffic = Traffic()
  /// Without the operator's.
  package let connections: ConnectionCount
  let fields: ResponseFields
  let originFields: OriginFields
  let sharing: SharingPolicy
  let hits = CachedHits()
  /// When keys were found not to be cacheable.
  private let uncacheable = Mutex<[CacheKey: Uptime]>([:])
  let fills: BackgroundFills
  let sessions: StreamSessions
  let parts = KnownParts()
  let listings = LiveListings()
  let began: Date

  init(
    _ rules: ServingRules, _ routes: Routes, cache: MediaCache, connections: ConnectionCount,
    headers: HeaderFields, nodeName: String, token: String?
  ) {
    let isForManyOrigins = rules.origin == nil
    (self.rules, self.routes, self.cache) = (rules, routes, cache)
    (self.connections, began) = (connections, cache.now.wall)
    fields = ResponseFields(
      isForManyOrigins: isForManyOrigins, allowedWebOrigin: rules.allowedWebOrigin,
      node: nodeName)
    let number = String(UInt32.random(in: .min ... .max), radix: 36)
    originFields = OriginFields(
      own: headers, isForManyOrigins: isForManyOrigins, viaName: "\(nodeName)-\(number)",
      isShared: !isForManyOrigins || cache.isShared)
    sharing = SharingPolicy(of: cache)
    fills = BackgroundFills(cache: cache)
    // A random token is not that of the next proxy.
    sessions = StreamSessions(cache, token: isForManyOrigins ? token : nil)
  }

  private let stopping = Atomic(false)
  private let draining = Atomic(false)

  package var isStopping: Bool { stopping.load(ordering: .relaxed) }

  /// Whether connections end with the responses under way: clients are to go elsewhere.
  package var isEnding: Bool { isStopping || draining.load(ordering: .relaxed) }

  func drain() { draining.store(true, ordering: .relaxed) }

  func stop() { stopping.store(true, ordering: .relaxed) }

  func noteUncacheable(_ key: CacheKey) {
    uncacheable.withLock { times in
      // What is forgotten is found out again.
      if times.count >= 4096 { times = [:] }
      times[key] = .now
    }
  }

  /// Whether requests for the key are relayed without another attempt, for two minutes.
  func isUncacheable(_ key: CacheKey) -> Bool {
    let time = uncacheable.withLock { $0[key] }
    return time.flatMap { Uptime.now.seconds(since: $0) } ?? .infinity < 120
  }

  // MARK: For the operator

  package var nodeName: String { fields.node }

  /// The only origin; nil if the proxy serves many, under a token.
  package var origin: URL? { rules.origin }

  /// Returns what a client's request for a URL would open; throws as `CacheProxy.url(for:)`.
  package func resource(for url: URL) throws -> Resource {
    _ = try routes.proxied(url)
    // A user and a password would be shown.
    var resource = Resource(url: url.withoutUserInfo, headers: originFields.forCache([:]))
    resource.filter = routes.filter(for: resource.url)
    return resource
  }

  /// Removes entries in all their representations: no further request is answered with what the
  /// origin sent before. Throws `MediaCacheError`, `.storage`, or `CancellationError`.
  package func purge(_ selection: PurgeSelection) async throws -> RemovedEntries {
    // Entries held for fast responses keep removed files; responses stored for credentials are
    // confirmed before they are used. Also after an error: some entries may have been removed.
    defer {
      hits.releaseAll()
      sharing.memory?.removeAll(at: cache.now.wall)
    }
    return try await cache.purge(selection)
  }

  // MARK: The log

  /// Counts a request that has ended, and passes it to the app's log. `served.url` is empty if no
  /// origin was asked, `head` nil for bytes that were not a request; `firstByte` is in seconds.
  func note(_ served: ServedRequest, of head: RequestHead?, firstByte: Double? = nil) {
    traffic.note(served, firstByte: firstByte)
    guard let log = rules.log else { return }
    var served = served
    if let head {
      if served.url.isEmpty { served.url = routes.shown(head.target) }
      if rules.logsClientFields {
        let fields = head.fields
        served.version = "HTTP/1.\(head.minorVersion)"
        // Many requests may wait to be logged.
        served.referrer = fields["Referer"].map { String(routes.shown($0).prefix(1024)) }
        served.userAgent = fields["User-Agent"].map { String($0.prefix(1024)) }
      }
    }
    log(served)
  }

  /// Returns what a resource is by the manifests that name it. The versions of a live playlist
  /// (`_HLS_msn`) belong to the stream of the playlist.
  func policy(of url: URL) -> ResourcePolicy {
    if let known = parts.policy(of: url) { return known }
    let playlist = url.withoutDeliveryDirectives
    return (playlist == url ? nil : parts.policy(of: playlist)) ?? .streams
  }

  /// Returns the key of the first manifest of a manifest's stream: its own, unless another one has
  /// named it. `recorded` is the stream in its record, known after a restart too.
  func stream(of manifest: URL, recorded: CacheKey?) -> CacheKey {
    policy(of: manifest).group?.first ?? recorded
      ?? cache.key(for: Resource(url: manifest.withoutDeliveryDirectives))
  }
}
