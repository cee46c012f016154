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
  let hits = CachedHits()
  /// Keys found not to be cacheable, which are relayed without another attempt.
  let uncacheable = RecentNotes<CacheKey, Uncacheable>(capacity: 4096, patience: 120)
  let invalidations: Invalidations
  let responses = SmallResponses()
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
  /// Nil if the proxy has no page.
  let page: Page?
  /// Records each request.
  let log: (@Sendable (ServedRequest) -> Void)?
  let traffic = Traffic()
  let health: HealthCheck
  let clients: Clients
  /// The clients that are connected now, without the operator's.
  let connections: ConnectionCount
  /// The number of connections whose clients have ended their side, and have received nothing for
  /// `crowdedEndedInputTimeout`.
  let endedInputs = Atomic(0)
  private let stopping = Atomic(false)
  private let draining = Atomic(false)
  private let isFollowing = Atomic(false)
  private let local = Mutex<(now: ListeningAddress?, known: ListeningAddress?)>((nil, nil))

  init(cache: MediaCache, configuration: CacheProxy.Configuration) throws(CacheProxyError) {
    self.cache = cache
    invalidations = Invalidations(since: cache.now.wall)
    health = HealthCheck(cache: cache)
    connections = ConnectionCount { [most = configuration.maximumConnections] in
      min(most ?? DescriptorBudget.forClients, DescriptorBudget.forClientsAtMost)
    }
    self.configuration = configuration
    routes = try Routes(configuration)
    sessions = StreamSessions(cache, token: configuration.origin == nil ? configuration.token : nil)
    let isForManyOrigins = configuration.origin == nil
    fields = AnswerFields(
      isForManyOrigins: isForManyOrigins, allowedWebOrigin: configuration.allowedWebOrigin,
      node: configuration.nodeName)
    originFields = OriginFields(
      own: configuration.headers, isForManyOrigins: isForManyOrigins,
      viaName: "\(configuration.nodeName)-\(String(UInt32.random(in: .min ... .max), radix: 36))",
      isShared: !isForManyOrigins || cache.isShared)
    requestPolicy = RequestPolicy(
      hasOrigin: configuration.origin != nil, methods: configuration.relayedMethods,
      allowedWebOrigin: configuration.allowedWebOrigin)
    clients = Clients(configuration.clientLimits)
    fills = BackgroundFills(cache: cache)
    let hasPlaceForPage = routes.token != nil || configuration.adminAddress != nil
    page = configuration.servesPage && hasPlaceForPage ? Page(cache: cache) : nil
    log = configuration.log
  }

  /// The page, if it is on the operator's listener: where there is a token, it is under the token
  /// alone, which would be shown to whoever reaches that listener.
  var pageForOperator: Page? { routes.token == nil ? page : nil }

  var isStopping: Bool { stopping.load(ordering: .relaxed) }

  func stop() { stopping.store(true, ordering: .relaxed) }

  /// Whether the proxy serves, but reports that it is about to end.
  var isDraining: Bool { draining.load(ordering: .relaxed) }

  func drain() {
    draining.store(true, ordering: .relaxed)
    sessions.save(after: .zero)
  }

  /// Whether connections end with the responses under way: their clients are to go elsewhere.
  var closesConnections: Bool { isStopping || isDraining }

  /// The address on which the proxy listens now.
  var address: ListeningAddress? {
    get { local.withLock { $0.now } }
    set { local.withLock { $0 = (newValue, newValue ?? $0.known) } }
  }

  /// The address by which requests are recognized as meant for this proxy: those of connections
  /// that were accepted before the listening socket was closed, too.
  var knownAddress: ListeningAddress? { local.withLock { $0.known } }

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

  /// Whether a request is a balancer's, at the path for it.
  func isHealthCheck(_ head: RequestHead) -> Bool {
    (head.isGET || head.isHEAD) && head.target == configuration.healthPath
  }

  private static let slowMarks: Marks = [.conditional, .cacheControl, .authorization]

  /// Whether a request is of the most common kind: for the bytes of a resource, without conditions.
  func canAnswerAtOnce(_ head: RequestHead) -> Bool {
    !clients.areSlowed && (head.isGET || head.isHEAD) && head.minorVersion == 1
      && head.framing == .none
      && head.marks.isDisjoint(with: Self.slowMarks)
  }

  func cachedHit(_ head: RequestHead) -> CachedHit? {
    let target = head.target
    guard routes.mayBeOurs(target: target) else { return nil }
    return hits.resource(for: target)
  }
}
