// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain
import RefrainStreams

/// A caching HTTP proxy in front of a `MediaCache`: any player plays through the cache by changing
/// its URL (`url(for:)`).
///
/// All methods may be called from any thread.
public final class CacheProxy: Sendable {
  /// What the proxy was created with.
  public let configuration: Configuration
  let service: ProxyService
  let setup: ConnectionSetup
  let listener: Listener

  /// Creates a proxy, which does not listen before `run()`.
  ///
  /// - Throws: `CacheProxyError`, `.invalidConfiguration` if the configuration would make an open
  ///   proxy, or contains an invalid token, origin, host or name.
  public convenience init(cache: MediaCache, configuration: Configuration = Configuration())
    throws(CacheProxyError)
  {
    self.init(
      try ProxyService(cache: cache, configuration: configuration), configuration,
      front: FrontHandlers())
  }

  /// - Parameter configuration: that with which `service` was created.
  package init(_ service: ProxyService, _ configuration: Configuration, front: FrontHandlers) {
    var configuration = configuration
    if let address = configuration.socket?.address {
      (configuration.address, configuration.port) = (address.host, address.port)
    }
    (self.service, self.configuration) = (service, configuration)
    let settings = ConnectionSettings(
      headTimeout: configuration.headTimeout, idleTimeout: configuration.idleTimeout,
      sendTimeout: configuration.sendTimeout, lastRequestTimeout: configuration.lastRequestTimeout,
      isSocketGiven: configuration.socket != nil, sendsFiles: configuration.sendsFiles)
    setup = ConnectionSetup(settings, service, front) {
      await Responder(delivery: $0).run(front)
    }
    listener = Listener(setup, at: service.routes.place, service.connections)
  }

  /// Returns a listener for the operator's handlers alone, asked for requests whose `Host` is the
  /// proxy's. It stays open until it is stopped: the state of a proxy that ends can be watched. Its
  /// requests are neither logged nor counted, and its clients have no limits.
  package func listener(at place: ListeningPlace, _ handlers: [any ProxyHandler]) -> Listener {
    var routes = service.routes
    routes.place = place
    let setup = ConnectionSetup(setup.settings, service, nil) { [routes] delivery in
      let responder = Responder(delivery: delivery)
      await responder.run {
        let target = String(try routes.ownTarget(of: delivery.request))
        guard try await responder.ask(handlers, target: target) else {
          throw HTTPError(404, "Nothing exists at this path.")
        }
      }
    }
    // More than watchers need, and few enough for the descriptors that clients leave.
    return Listener(setup, at: place, ConnectionCount { DescriptorBudget.forOperator })
  }

  /// Listens and serves until `stop()`, or until the task is cancelled; running responses then have
  /// a few seconds to end. If the listening socket is lost, binds again on the same port: iOS takes
  /// it from suspended programs, which is noticed within two seconds after they run again.
  ///
  /// - Throws: `CacheProxyError`: `.addressInUse`, `.addressUnavailable`, `.alreadyRunning`, or
  ///   `.closed` after it has ended, also if `stop()` came first; `CancellationError`.
  public func run() async throws { try await run(atStart: {}, atEnd: {}) }

  /// As `run()`. If `atStart` throws, nothing listens; `atEnd` is called after the last response.
  package func run(atStart: () async throws -> Void, atEnd: () async -> Void) async throws {
    var housekeeping: Task<Void, Never>?
    var holds: UInt64?
    try await listener.run {
      await service.sessions.refresh()
      holds = service.cache.releaseIdleLeases { [service] in service.hits.releaseAll() }
      housekeeping = Task {
        while (try? await Task.sleep(for: .seconds(2))) != nil {
          await listener.examineIfSuspended()
          service.hits.releaseUnused()
        }
      }
      try await atStart()
    } atEnd: {
      housekeeping?.cancel()
      if let holds { service.cache.forgetIdleLeases(holds) }
      await listener.settle(within: configuration.stopTimeout)
      await service.fills.stop()
      service.hits.releaseAll()
      await atEnd()
      await service.sessions.close()
    }
  }

  /// Reports from now on that the proxy is about to end: connections are closed after the responses
  /// under way, and with RefrainServer `/health` responds 503. New connections are still accepted.
  /// Call `stop()` once the balancers have noticed.
  public func beginDraining() {
    service.drain()
    service.sessions.save(after: .zero)
  }

  /// Ends `run()`: accepts no more connections, gives running responses a few seconds to end,
  /// closes the rest, and then returns.
  public func stop() async { await listener.stop() }

  /// Returns as soon as connections are accepted. Notices at once that the program was suspended
  /// and lost the listening socket: call it before each `url(for:)` in an app for iOS.
  ///
  /// - Throws: the error of `run()`; `CancellationError`.
  public func waitUntilListening() async throws { try await listener.waitUntilListening() }

  var connectionCount: Int { service.connections.current }

  /// The address on which the proxy listens; nil while it does not.
  public var listeningAddress: ListeningAddress? { service.routes.place.address }

  /// The beginning of each proxy URL, with a trailing slash; nil before the port is known.
  public var baseURL: URL? {
    service.routes.base(reachedAs: nil).flatMap { URL(string: $0) }
  }

  /// Returns the proxy URL for `url`.
  ///
  /// - Throws: `MediaCacheError`, `.badURL` if it is not an http or https URL, its host is not
  ///   allowed, or it is not under `Configuration.origin`; `CacheProxyError`, `.notListening` if
  ///   the port is not known yet.
  public func url(for url: URL) throws -> URL { try service.routes.proxied(url) }

  /// Returns the proxy URL for a resource. Its headers are sent with the requests of that URL, and
  /// of the playlists, segments and keys of a stream that are on the same host, if the client sends
  /// none of the same name. So are the user and the password in its URL, and cookies that its
  /// manifest has set, if this process has read it from the cache before. `User-Agent`, `Referer`,
  /// `Origin`, `Accept` and `Accept-Language` are sent to all hosts of the stream, in place of the
  /// client's own. Its `key` is not used.
  ///
  /// - Throws: as `url(for:)` for a URL.
  public func url(for resource: Resource) throws -> URL {
    let cookies = service.cache.cookies(of: resource)
    var headers = resource.headers
    // No proxy URL has the user and the password.
    if headers["Authorization"] == nil {
      headers["Authorization"] = resource.url.basicAuthorization
    }
    guard configuration.origin == nil,
      !headers.isEmpty || !cookies.all(at: service.cache.now.wall).isEmpty
    else { return try url(for: resource.url) }
    let session = service.sessions.begin(
      with: headers, for: resource.url.withoutUserInfo, cookies)
    return try service.routes.proxied(resource.url, session: session.id)
  }
}
