// SPDX-License-Identifier: MIT
import NIOCore
import NIOPosix
import Refrain
import RefrainLocks

/// A listener beside that of a proxy, for handlers alone: the operator's. It is bound again if it is
/// lost, and stays open until all clients of the proxy itself have been served: the state of a proxy
/// that ends can be watched. Its requests are neither logged nor counted, and its clients have no
/// limits.
package final class HandlerListener: Sendable {
  private let place = ProxyPlace()
  /// More connections than watchers need, and few enough for the descriptors that clients leave.
  private let count = ConnectionCount { DescriptorBudget.forOperator }
  private let listener: Listener

  /// - Parameter handlers: asked in this order for each request whose `Host` is the proxy's.
  init(
    _ service: ProxyService, _ settings: ConnectionSettings, at listening: ListeningPlace,
    _ handlers: [any ProxyHandler]
  ) {
    listener = Listener(
      ConnectionSetup(settings, service.phase, nil), at: listening, place, count,
      warn: { [cache = service.cache] in cache.report(warning: $0) }
    ) {
      [service, place] request, writer in
      let responder = Responder(delivery: Delivery(service, request, writer, isOperators: true))
      await responder.run {
        _ = try service.routes.ownTarget(of: request, listening: place.known)
        let target = request.head.target
        guard target.hasPrefix("/") else {
          throw HTTPError(400, "The request target is not a path.")
        }
        guard try await responder.ask(handlers, target: target) else {
          throw HTTPError(404, "Nothing exists at this path.")
        }
      }
    }
  }

  /// The address on which it listens; nil while it does not.
  package var address: ListeningAddress? { place.address }

  /// The number of watchers connected now.
  package var connectionCount: Int { count.current }

  /// - Throws: `CacheProxyError`, `.addressInUse`, `.addressUnavailable`.
  package func start() async throws {
    Task { [listener] in
      // The proxy serves its clients whatever becomes of this socket. The first error is thrown below.
      try? await listener.run(mostFailures: .max) {
      } atEnd: {
        await listener.settle(within: .zero)
      }
    }
    try await listener.waitUntilListening()
  }

  /// Closes the socket and all connections, and waits for running handlers.
  package func stop() async { await listener.stop() }
}
