// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainLocks

/// The shared state of a proxy's connections.
final class ProxyService: Sendable {
  let cache: MediaCache
  let configuration: CacheProxy.Configuration
  let routes: Routes
  let fields: AnswerFields
  let originFields: OriginFields
  let requestPolicy: RequestPolicy
  let hits = CachedHits()
  let uncacheable = UncacheableKeys()
  let invalidations: Invalidations
  let fills: BackgroundFills
  let responders = RunningResponders()
  let sessions: StreamSessions
  let parts = KnownParts()
  let slidOut: SlidOutEviction
  let growing = GrowingSegments()
  private let stopping = Atomic(false)
  private let local = Mutex<ListeningAddress?>(nil)

  init(cache: MediaCache, configuration: CacheProxy.Configuration) throws(CacheProxyError) {
    self.cache = cache
    invalidations = Invalidations(since: cache.now.wall)
    self.configuration = configuration
    routes = try Routes(configuration)
    sessions = Self.sessions(cache, token: configuration.origin == nil ? configuration.token : nil)
    let isForManyOrigins = configuration.origin == nil
    fields = AnswerFields(
      isForManyOrigins: isForManyOrigins, allowedWebOrigin: configuration.allowedWebOrigin)
    originFields = OriginFields(
      own: configuration.headers, isForManyOrigins: isForManyOrigins,
      viaName: "refrain-\(String(UInt32.random(in: .min ... .max), radix: 36))",
      isShared: !isForManyOrigins || cache.isShared)
    requestPolicy = RequestPolicy(
      hasOrigin: configuration.origin != nil, methods: configuration.relayedMethods,
      allowedWebOrigin: configuration.allowedWebOrigin)
    fills = BackgroundFills(cache: cache)
    slidOut = SlidOutEviction(cache: cache, growing: growing)
  }

  /// - Parameter token: the token that the next proxy has too; nil: the URLs end with this one.
  private static func sessions(_ cache: MediaCache, token: String?) -> StreamSessions {
    guard let token else { return StreamSessions(now: { cache.now }) }
    let store = SessionStore(cache.privateFiles, token: token)
    let saving = SessionSaving(store, now: { cache.now.wall }) { cache.report(warning: $0) }
    return StreamSessions(saving: saving, now: { cache.now })
  }

  var isStopping: Bool { stopping.load(ordering: .relaxed) }

  func stop() { stopping.store(true, ordering: .relaxed) }

  /// The address on which the proxy listens now.
  var address: ListeningAddress? {
    get { local.withLock { $0 } }
    set { local.withLock { $0 = newValue } }
  }

  // MARK: Answering at once

  private static let slowMarks: Marks = [.conditional, .cacheControl, .authorization]

  /// Whether a request is of the most common kind: for the bytes of a resource, without conditions.
  func canAnswerAtOnce(_ head: RequestHead) -> Bool {
    (head.isGET || head.isHEAD) && head.minorVersion == 1 && head.framing == .none
      && head.marks.isDisjoint(with: Self.slowMarks)
  }

  func cachedHit(_ head: RequestHead) -> CachedHit? {
    let target = head.target
    guard routes.mayBeOurs(target: target) else { return nil }
    return hits.resource(for: target)
  }
}
