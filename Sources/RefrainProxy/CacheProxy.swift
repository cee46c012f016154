// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain
import Synchronization

/// A caching HTTP proxy in front of a `MediaCache`: any player plays through the cache by changing
/// its URL (`url(for:)`).
///
/// All methods may be called from any thread.
public final class CacheProxy: Sendable {
  public let configuration: Configuration
  private let service: ProxyService
  private let listener: Listener

  /// Listens nowhere yet: `run()` does.
  ///
  /// - Throws: `MediaCacheError`, `.usage` where the configuration would make an open proxy, or
  ///   names a token, an origin or a host that cannot be one.
  public init(cache: MediaCache, configuration: Configuration = Configuration()) throws {
    service = try ProxyService(cache: cache, configuration: configuration)
    self.configuration = configuration
    listener = Listener(service: service)
  }

  /// Listens and serves until `stop()`, or until the task is cancelled; both let running answers
  /// come to their end for a few seconds. Where the system takes the listening socket away, as iOS
  /// does with programs that it suspends, it binds again, on the same port.
  ///
  /// - Throws: `MediaCacheError`: `.inUse` where something listens there already, `.usage` where
  ///   nothing can listen at the address or where it runs already, `.closed` after its end, also
  ///   where `stop()` came before this.
  public func run() async throws {
    try await listener.run()
  }

  /// Ends `run()`: takes no more connections, lets running answers end for a few seconds, closes
  /// what is left, and returns then.
  public func stop() async {
    await listener.stop()
  }

  /// Returns as soon as connections are taken.
  ///
  /// - Throws: what `run()` threw; `CancellationError`.
  public func waitUntilListening() async throws {
    try await listener.waitUntilListening()
  }

  /// Clients that are connected now.
  var connectionCount: Int { listener.connectionCount }

  /// Nil while nothing is listened to.
  public var listeningAddress: ListeningAddress? { service.address }

  /// What stands before the path of each URL, with a slash at its end; nil before the port is known.
  public var baseURL: URL? {
    service.routes.base(listening: listener.expectedAddress).flatMap { URL(string: $0) }
  }

  /// The URL under which a URL of an origin is had through the proxy.
  ///
  /// - Throws: `MediaCacheError`: `.badURL` where it is not an http or https URL, its host may not
  ///   be asked, or it is not under `Configuration.origin`; `.closed` where the port is not known
  ///   yet.
  public func url(for url: URL) throws -> URL {
    try service.routes.proxied(url, listening: listener.expectedAddress)
  }
}
