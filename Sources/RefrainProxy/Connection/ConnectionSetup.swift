// SPDX-License-Identifier: MIT
import NIOCore
import Refrain
import RefrainLocks

/// What the connections of one listener have in common.
final class ConnectionSetup: Sendable {
  let timeouts: ConnectionTimeouts
  /// Whether stored bytes are sent by sendfile(2).
  let sendsFiles: Bool
  /// Whether the socket is somebody else's, who keeps it for the next process.
  let isSocketGiven: Bool
  let phase: ProxyPhase
  /// Counts the tasks that respond.
  let responders: RunningResponders
  let endedInputs: EndedInputs
  /// Nil for the connections of the operator.
  let clients: ClientSide?

  init(
    timeouts: ConnectionTimeouts, sendsFiles: Bool, isSocketGiven: Bool, phase: ProxyPhase,
    responders: RunningResponders, endedInputs: EndedInputs, clients: ClientSide?
  ) {
    (self.timeouts, self.sendsFiles) = (timeouts, sendsFiles)
    (self.isSocketGiven, self.phase, self.responders) = (isSocketGiven, phase, responders)
    (self.endedInputs, self.clients) = (endedInputs, clients)
  }

  /// Returns the same for connections of the operator, which are neither counted nor limited.
  func forOperator(_ responders: RunningResponders) -> ConnectionSetup {
    ConnectionSetup(
      timeouts: timeouts, sendsFiles: sendsFiles, isSocketGiven: isSocketGiven, phase: phase,
      responders: responders, endedInputs: endedInputs, clients: nil)
  }

  /// Whether connections close after the responses under way. Those of the operator do not while
  /// the proxy drains.
  var isEnding: Bool { clients == nil ? phase.isStopping : phase.isEnding }
}

/// How long connections wait (`CacheProxy.Configuration`).
struct ConnectionTimeouts: Sendable {
  var head: Duration
  var idle: Duration
  var send: Duration
  /// For a client that has ended its side.
  var endedInput: Duration
  /// The same, while there are more than `mostEndedInputs` that have waited for so long.
  var crowdedEndedInput: Duration
  var mostEndedInputs: Int
  /// For the next request once the proxy stops.
  var lastRequest: Duration
  /// The clock for clients that have ended their side.
  var endedInputClock: @Sendable () -> Uptime
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
  let traffic: Traffic
  let log: RequestLog
  private let front: FrontHandlers
  private let hits: CachedHits
  private let routes: Routes
  private let place: ProxyPlace

  init(
    traffic: Traffic, log: RequestLog, front: FrontHandlers, hits: CachedHits, routes: Routes,
    place: ProxyPlace
  ) {
    (self.traffic, self.log, self.front) = (traffic, log, front)
    (self.hits, self.routes, self.place) = (hits, routes, place)
  }

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
    guard routes.mayBeOurs(target: target) else { return nil }
    return hits.resource(for: target)
  }

  /// - Parameter localAddress: the local address of the connection.
  func isOurs(host: String, localAddress: String?) -> Bool {
    routes.isOurs(host: host, localAddress: localAddress, listening: place.known)
  }
}
