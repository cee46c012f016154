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
  let endedInputs = EndedInputs()
  /// Nil for the connections of the operator, which are neither counted nor limited.
  let clients: ClientSide?

  init(_ settings: ConnectionSettings, _ phase: ProxyPhase, _ clients: ClientSide?) {
    (self.settings, self.phase, self.clients) = (settings, phase, clients)
  }

  func noteResponders(_ difference: Int) {
    responders.add(difference, ordering: .acquiringAndReleasing)
  }

  var hasResponders: Bool { responders.load(ordering: .acquiring) > 0 }

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

/// The number of connections whose clients have ended their side, and have received nothing for a
/// while.
final class EndedInputs: Sendable {
  private let number = Atomic(0)

  var count: Int { number.load(ordering: .relaxed) }

  func add(_ difference: Int) { number.add(difference, ordering: .relaxed) }

  /// Counts one no more if there are more than `most`. Returns whether there were.
  func leave(ifMoreThan most: Int) -> Bool {
    var count = number.load(ordering: .relaxed)
    // No more clients leave than are too many, though others leave at the same time.
    while count > most {
      let result = number.compareExchange(expected: count, desired: count - 1, ordering: .relaxed)
      if result.exchanged { return true }
      count = result.original
    }
    return false
  }
}

/// What connections of clients have, and those of the operator have not: stored bytes at once, limits,
/// figures and a log.
final class ClientSide: Sendable {
  private let service: ProxyService
  private let front: FrontHandlers

  init(_ service: ProxyService, _ front: FrontHandlers) {
    (self.service, self.front) = (service, front)
  }

  var traffic: Traffic { service.traffic }
  var log: RequestLog { service.log }

  /// What each client may use; nil: no limits.
  var gate: (any ClientGate)? { front.gate }

  /// Returns what limits a request; nil if nothing does, as for a balancer's.
  func gate(for head: RequestHead) -> (any ClientGate)? {
    guard let gate, front.open?.isAsked(by: head) != true else { return nil }
    return gate
  }

  private static let slowMarks: Marks = [.conditional, .cacheControl, .authorization]

  /// Whether a request is of the most common kind: for the bytes of a resource, without conditions.
  func canAnswerAtOnce(_ head: RequestHead) -> Bool {
    front.gate?.isPacing != true && (head.isGET || head.isHEAD) && head.minorVersion == 1
      && head.framing == .none
      && head.marks.isDisjoint(with: Self.slowMarks)
  }

  func cachedHit(_ head: RequestHead) -> CachedHit? {
    let target = head.target
    guard service.routes.mayBeOurs(target: target) else { return nil }
    return service.hits.resource(for: target)
  }

  /// - Parameter localAddress: the local address of the connection.
  func isOurs(host: String, localAddress: String?) -> Bool {
    service.routes.isOurs(
      host: host, localAddress: localAddress, listening: service.place.known)
  }
}
