// SPDX-License-Identifier: MIT
import NIOCore
package import Refrain
import RefrainLocks

/// What the connections of one listener have in common.
final class ConnectionSetup: Sendable {
  let settings: ConnectionSettings
  let phase: ProxyPhase
  /// The number of tasks that respond.
  private let responders = Atomic(0)
  /// The number of clients that have ended their side, and have received nothing for a while.
  private let endedInputs = Atomic(0)
  /// Nil for the connections of the operator, which are neither counted nor limited.
  let clients: ClientSide?

  init(_ settings: ConnectionSettings, _ phase: ProxyPhase, _ clients: ClientSide?) {
    (self.settings, self.phase, self.clients) = (settings, phase, clients)
  }

  func noteResponders(_ difference: Int) {
    responders.add(difference, ordering: .acquiringAndReleasing)
  }

  var hasResponders: Bool { responders.load(ordering: .acquiring) > 0 }

  var endedInputCount: Int { endedInputs.load(ordering: .relaxed) }

  func noteEndedInputs(_ difference: Int) { endedInputs.add(difference, ordering: .relaxed) }

  /// Counts one of these clients no more if there are too many. Returns whether there were.
  func leaveEndedInputs() -> Bool {
    // No more leave than are too many, though others leave at the same time: at worst fewer do.
    let before = endedInputs.subtract(1, ordering: .relaxed).oldValue
    if before > settings.mostEndedInputs { return true }
    endedInputs.add(1, ordering: .relaxed)
    return false
  }

  /// Whether connections close after the responses under way. Those of the operator do not while
  /// the proxy drains.
  var isEnding: Bool { clients == nil ? phase.isStopping : phase.isEnding }
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

  /// Whether stored bytes are sent by sendfile(2), and not through a buffer.
  package var sendsFiles = canSendFiles

  /// On iOS, tvOS and visionOS a call of sendfile(2) ends the process (SIGSYS).
  private static var canSendFiles: Bool {
    #if os(iOS) || os(tvOS) || os(visionOS)
      false
    #else
      true
    #endif
  }
}

/// What connections of clients have, and those of the operator have not: stored bytes at once, limits,
/// figures and a log.
final class ClientSide: Sendable {
  let service: ProxyService
  private let front: FrontHandlers

  init(_ service: ProxyService, _ front: FrontHandlers) {
    (self.service, self.front) = (service, front)
  }

  /// What each client may use; nil: no limits.
  var gate: (any ClientGate)? { front.gate }

  /// Returns what limits a request; nil if nothing does, as for a balancer's.
  func gate(for head: RequestHead) -> (any ClientGate)? {
    front.open?.isAsked(by: head) == true ? nil : gate
  }

  /// Whether a request is of the most common kind: for the bytes of a resource, without conditions.
  func canAnswerAtOnce(_ head: RequestHead) -> Bool {
    gate?.isPacing != true && (head.isGET || head.isHEAD) && head.minorVersion == 1
      && head.framing == .none
      && head.marks.isDisjoint(with: [.conditional, .cacheControl, .authorization])
  }

  func cachedHit(_ head: RequestHead) -> CachedHit? {
    let target = head.target
    guard service.routes.mayBeOurs(target: target) else { return nil }
    return service.hits.resource(for: target)
  }
}
