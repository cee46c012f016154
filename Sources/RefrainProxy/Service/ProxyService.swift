// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainLocks
import RefrainStreams

/// The shared state of a proxy's connections.
final class ProxyService: Sendable {
  let cache: MediaCache
  let configuration: CacheProxy.Configuration
  let routes: Routes
  let fields: AnswerFields
  let originFields: OriginFields
  let requestPolicy: RequestPolicy
  let hits: CachedHits
  /// Keys found not to be cacheable, which are relayed without another attempt.
  let uncacheable = RecentNotes<CacheKey, Uncacheable>(capacity: 4096, patience: 120)
  let invalidations: Invalidations
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
  /// Records each request.
  let log: (@Sendable (ServedRequest) -> Void)?
  let traffic: Traffic
  /// The clients that are connected now, without the operator's.
  let connections: ConnectionCount
  /// The number of connections whose clients have ended their side, and have received nothing for
  /// `crowdedEndedInputTimeout`.
  let endedInputs = Atomic(0)
  let phase: ProxyPhase
  let place: ProxyPlace
  private let isFollowing = Atomic(false)

  init(_ proxy: OperatedProxy, front: FrontHandlers) {
    let (cache, configuration) = (proxy.cache, proxy.configuration)
    (self.cache, self.configuration, self.front) = (cache, configuration, front)
    (routes, place, phase) = (proxy.routes, proxy.place, proxy.phase)
    (connections, traffic) = (proxy.connections, proxy.traffic)
    (hits, invalidations, originFields) = (proxy.hits, proxy.invalidations, proxy.originFields)
    sessions = StreamSessions(cache, token: configuration.origin == nil ? configuration.token : nil)
    fields = AnswerFields(
      isForManyOrigins: configuration.origin == nil,
      allowedWebOrigin: configuration.allowedWebOrigin, node: configuration.nodeName)
    requestPolicy = RequestPolicy(
      hasOrigin: configuration.origin != nil, methods: configuration.relayedMethods,
      allowedWebOrigin: configuration.allowedWebOrigin)
    fills = BackgroundFills(cache: cache)
    log = configuration.log
  }

  func drain() {
    phase.drain()
    sessions.save(after: .zero)
  }

  /// Follows what other processes do in the cache directory, unless that is under way. Returns at
  /// once.
  func followOtherProcesses() {
    guard !isFollowing.exchange(true, ordering: .acquiringAndReleasing) else { return }
    Task {
      await cache.noticeOtherProcesses()
      isFollowing.store(false, ordering: .releasing)
    }
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

  // MARK: Answering at once

  private static let slowMarks: Marks = [.conditional, .cacheControl, .authorization]

  /// Whether a request is of the most common kind: for the bytes of a resource, without conditions.
  func canAnswerAtOnce(_ head: RequestHead) -> Bool {
    front.gate?.isPacing != true && (head.isGET || head.isHEAD) && head.minorVersion == 1
      && head.framing == .none
      && head.marks.isDisjoint(with: Self.slowMarks)
  }

  func cachedHit(_ head: RequestHead) -> CachedHit? {
    let target = head.target
    guard routes.mayBeOurs(target: target) else { return nil }
    return hits.resource(for: target)
  }
}
