// SPDX-License-Identifier: MIT
import NIOCore
package import Refrain
import RefrainLocks

/// What the connections of one listener have in common.
final class ConnectionSetup: Sendable {
  let settings: ConnectionSettings
  let service: ProxyService
  /// Nil for the connections of the operator, which have no limits, no figures and no log, and
  /// receive nothing at once.
  let front: FrontHandlers?
  /// Responds to a request that cannot be served at once.
  let respond: @Sendable (Delivery) async -> Void
  /// The number of tasks that respond.
  let responders = Atomic(0)
  /// The connections whose clients have ended their side, and have received nothing for a while.
  let endedInputs = Mutex<Set<ObjectIdentifier>>([])

  init(
    _ settings: ConnectionSettings, _ service: ProxyService, _ front: FrontHandlers?,
    respond: @escaping @Sendable (Delivery) async -> Void
  ) {
    (self.settings, self.service, self.front) = (settings, service, front)
    self.respond = respond
  }

  /// Whether connections close after the responses under way. Those of the operator do not while
  /// the proxy drains.
  var isEnding: Bool { front == nil ? service.phase.isStopping : service.phase.isEnding }
}

/// How connections wait and send (`CacheProxy.Configuration`).
package struct ConnectionSettings: Sendable {
  package var headTimeout: Duration = .seconds(30)
  package var idleTimeout: Duration = .seconds(75)
  package var sendTimeout: Duration = .seconds(300)

  /// The longest time for which nothing may come for a client that has ended its side of the
  /// connection: it may still wait for its response, or have closed the connection. Nil: as long as
  /// an origin may be silent (`silenceTimeout` and `responseTimeout` of the cache).
  package var endedInputTimeout: Duration?
  /// The same, while there are more than `mostEndedInputs` clients that have waited for so long.
  static let crowdedEndedInputTimeout: Duration = .seconds(2)
  /// The most clients that may wait for `endedInputTimeout`: each one that has gone keeps a reader
  /// and a descriptor.
  package var mostEndedInputs = 64
  /// The clock of these timeouts.
  package var endedInputClock: @Sendable () -> Uptime = { .now }

  /// The time that a client of a given socket has for its next request once the proxy stops. Those
  /// that have been silent for longer are closed at once.
  package var lastRequestTimeout: Duration = .seconds(1)
  /// Whether the socket is somebody else's, who keeps it for the next process.
  var isSocketGiven = false

  // Whether stored bytes are sent by sendfile(2), and not through a buffer.
  #if os(iOS) || os(tvOS) || os(visionOS)
    /// A call of sendfile(2) ends the process there (SIGSYS).
    package var sendsFiles = false
  #else
    package var sendsFiles = true
  #endif
}
