// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain
public import RefrainProxy

/// A `CacheProxy` with its operator's side: a page, health, metrics, removal, and limits for clients.
///
/// All methods may be called from any thread.
public final class ProxyServer: Sendable {
  /// What the server was created with.
  public let configuration: Configuration
  /// The proxy, which `run()` runs. It gives the URLs, drains and stops.
  public let proxy: CacheProxy
  let page: Page?
  private let listener: Listener?

  /// Creates a server, which does not listen before `run()`.
  ///
  /// - Throws: `CacheProxyError`, `.invalidConfiguration` for a path or a limit that is not valid, and
  ///   as `CacheProxy.init(cache:configuration:)`.
  public init(
    cache: MediaCache, configuration: Configuration = Configuration()
  ) throws(CacheProxyError) {
    try configuration.check()
    let operated = try ProxyService(cache: cache, configuration: configuration.proxy)
    let health = HealthCheck(of: operated)
    let removal = Removal(of: operated)
    let hasToken = configuration.proxy.origin == nil
    let hasPage = configuration.servesPage && (hasToken || configuration.adminPlace != nil)
    let page = hasPage ? Page(of: operated, removal) : nil
    func handlers(_ place: OperatorPlace) -> [any ProxyHandler] {
      [OperatorHandler(proxy: operated, health: health, removal: removal, place: place)]
    }
    func pages(_ place: OperatorPlace) -> [any ProxyHandler] {
      page.map { [PageHandler(proxy: operated, page: $0, place: place)] } ?? []
    }
    var front = FrontHandlers()
    if hasToken { front.handlers = handlers(.behindToken) + pages(.behindToken) }
    front.open = configuration.healthPath.map { ($0, HealthHandler(health: health)) }
    front.gate = configuration.clientLimits.isEmpty ? nil : Clients(configuration.clientLimits)
    let proxy = CacheProxy(operated, configuration.proxy, front: front)
    listener = configuration.adminPlace.map {
      // Where there is a token, the page is under the token alone, which would be shown to whoever
      // reaches this listener.
      proxy.listener(
        at: $0, (hasToken ? [] : pages(.ownListener)) + handlers(.ownListener))
    }
    (self.configuration, self.proxy, self.page) = (configuration, proxy, page)
  }

  /// Listens and serves until `proxy.stop()`, or until the task is cancelled, as `CacheProxy.run()`.
  /// The operator's listener stays open until all clients of the proxy have been served. Downloads of
  /// the page end with the proxy; what they have fetched stays.
  ///
  /// - Throws: as `CacheProxy.run()`, also if the operator's address is not available.
  public func run() async throws {
    try await proxy.run {
      try await listener?.start()
    } atEnd: {
      await page?.downloads.stop()
      await listener?.stop()
    }
  }

  /// The address of the operator's listener; nil while it does not listen.
  public var adminListeningAddress: ListeningAddress? { listener?.place.address }

  /// The URL of the page; nil if there is none, or nothing listens.
  public var pageURL: URL? {
    guard page != nil else { return nil }
    guard configuration.proxy.origin != nil else { return proxy.baseURL }
    return adminListeningAddress.flatMap { URL(string: "http://\($0)/") }
  }

  var adminConnectionCount: Int { listener?.connections.current ?? 0 }
}
