// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// How a proxy responds, as it was configured (`CacheProxy.Configuration`).
struct ServingRules: Sendable {
  /// The only origin; nil if there are many.
  var origin: URL?
  var allowedWebOrigin: String?
  var relayedMethods: RelayedMethods
  /// The app's.
  var handlers: [any ProxyHandler]
  var servesOnePlay: Bool
  var fetchesWhole: Bool
  var redirectsPages: Bool
}

/// What the responses of a proxy share.
final class ProxyService: Sendable {
  let cache: MediaCache
  let rules: ServingRules
  let routes: Routes
  let fields: AnswerFields
  let originFields: OriginFields
  let requestPolicy: RequestPolicy
  let cachePolicy: CachePolicy
  let hits: CachedHits
  /// Keys found not to be cacheable, which are relayed without another attempt.
  let uncacheable = RecentNotes<CacheKey, Uncacheable>(capacity: 4096, patience: 120)
  let invalidations: Invalidations
  let responses: SmallResponses
  let fills: BackgroundFills
  let responders = RunningResponders()
  let sessions: StreamSessions
  let parts = KnownParts()
  let rewritten = RewrittenManifests()
  let chains = VariantChains()
  let growing = GrowingSegments()
  let listings = LiveListings()
  /// Whether origins could be reached, as the requests for manifests have shown.
  let reached = RecentNotes<WebOrigin, Bool>(capacity: 256, patience: 10)
  /// What the operator has added.
  let front: FrontHandlers
  let log: RequestLog
  let traffic: Traffic
  let phase: ProxyPhase
  let place: ProxyPlace

  /// - Parameter sessionToken: the token that the next proxy has too; nil: the sessions of streams end
  ///   with this one.
  init(
    _ proxy: OperatedProxy, _ rules: ServingRules, front: FrontHandlers, log: RequestLog,
    sessionToken: String?
  ) {
    (cache, self.rules, self.front, self.log) = (proxy.cache, rules, front, log)
    (routes, place, phase) = (proxy.routes, proxy.place, proxy.phase)
    (hits, traffic) = (proxy.hits, proxy.traffic)
    (invalidations, responses) = (proxy.invalidations, proxy.responses)
    originFields = proxy.originFields
    cachePolicy = cache.isShared ? .shared : .personal
    sessions = StreamSessions(cache, token: sessionToken)
    fields = AnswerFields(
      isForManyOrigins: rules.origin == nil, allowedWebOrigin: rules.allowedWebOrigin,
      node: proxy.nodeName)
    requestPolicy = RequestPolicy(
      hasOrigin: rules.origin != nil, methods: rules.relayedMethods,
      allowedWebOrigin: rules.allowedWebOrigin)
    fills = BackgroundFills(cache: cache)
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
