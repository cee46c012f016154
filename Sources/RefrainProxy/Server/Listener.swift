// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import Refrain
import RefrainLocks

/// A listening socket, which is bound again if it is lost, and its connections.
package final class Listener: Sendable {
  private let setup: ConnectionSetup
  private let place: ListeningPlace
  private let count: ConnectionCount
  private let cache: MediaCache
  private let respond: ProxyConnection.Respond
  private let state = Mutex(State())
  /// When the program was last seen to run.
  private let lastSeen = Mutex(ContinuousClock.now)

  private struct State {
    enum Phase {
      case idle, running, stopping
      /// With the error of whoever waits until it listens.
      case over(any Error)
    }
    var phase = Phase.idle
    var channel: (any Channel)?
    var connections: [ObjectIdentifier: NIOLoopBound<ProxyConnection>] = [:]

    var isRunning: Bool { if case .running = phase { true } else { false } }
    var isOver: Bool { if case .over = phase { true } else { false } }
  }

  /// - Parameters:
  ///   - place: where to listen.
  ///   - count: counts its connections.
  ///   - cache: reports why the socket cannot be bound again, once for each time that it is lost.
  ///   - respond: responds to a request that cannot be served at once.
  init(
    _ setup: ConnectionSetup, at place: ListeningPlace, _ count: ConnectionCount,
    _ cache: MediaCache, respond: @escaping ProxyConnection.Respond
  ) {
    (self.setup, self.place, self.count) = (setup, place, count)
    (self.cache, self.respond) = (cache, respond)
  }

  /// The address on which it listens; nil while it does not.
  package var address: ListeningAddress? { place.address }

  /// The number of clients connected now.
  package var connectionCount: Int { count.current }

  // MARK: Running

  /// - Parameters:
  ///   - mostFailures: the number of failures in a row to bind the socket again, after which this
  ///     fails.
  ///   - atStart: called before anything listens; if it throws, nothing does.
  ///   - atEnd: called once nothing listens any more, if `atStart` was called.
  func run(
    mostFailures: Int = 40, atStart: () async throws -> Void, atEnd: () async -> Void
  ) async throws {
    try state.withLock { state in
      guard case .idle = state.phase else {
        if state.isOver { throw Self.closed }
        throw CacheProxyError(
          .alreadyRunning, "The proxy is already running.", remedy: "Create another one.")
      }
      state.phase = .running
    }
    var failure: (any Error)?
    do {
      try await atStart()
      try await withTaskCancellationHandler {
        try await listenUntilStopped(mostFailures)
      } onCancel: {
        beginStopping()
      }
    } catch {
      failure = error
    }
    await atEnd()
    state.withLock { [failure] in $0.phase = .over(failure ?? Self.closed) }
    if let failure { throw failure }
    try Task.checkCancellation()
  }

  /// Listens until `stop()`, whatever becomes of the socket meanwhile.
  ///
  /// - Throws: `CacheProxyError`, `.addressInUse`, `.addressUnavailable`.
  package func start() async throws {
    Task {
      try? await run(mostFailures: .max) {
      } atEnd: {
        await settle(within: .zero)
      }
    }
    // Throws the first error.
    try await waitUntilListening()
  }

  private func listenUntilStopped(_ mostFailures: Int) async throws {
    var (failures, hasListened) = (0, false)
    while true {
      do {
        let channel = try await bind()
        (failures, hasListened) = (0, true)
        try await channel.closeFuture.get()
      } catch {
        // At first the user has to fix the error; later the system may need a moment.
        guard hasListened, failures < mostFailures else { throw error }
        if failures == 0 { cache.report(warning: "\(error)") }
        failures += 1
        try? await Task.sleep(for: .milliseconds(min(25 * failures, 500)))
      }
      place.noteClosed()
      let goesOn = state.withLock { state in
        state.channel = nil
        return state.isRunning
      }
      guard goesOn else { return }
    }
  }

  private func bind() async throws -> any Channel {
    let channel = try await place.open(count) { [self] in try accept($0) }
    let isLate = state.withLock { state in
      state.channel = channel
      return !state.isRunning
    }
    if isLate {
      channel.close(promise: nil)
    } else {
      // Fails if it is closed already.
      try? await channel.setOption(.autoRead, value: true).get()
    }
    return channel
  }

  // MARK: Lost sockets

  /// The time between two calls of `examineIfSuspended()` while the program runs.
  static let pace = Duration.seconds(2)
  /// A program that was not seen for longer was probably suspended.
  private static let longestSilence = Duration.seconds(6)

  /// Examines the listening socket if the program was probably suspended: iOS takes it from such a
  /// program, and reports no event (Apple's Technical Note TN2277).
  func examineIfSuspended() async {
    let now = ContinuousClock.now
    // Until the examination has ended, further callers begin their own.
    if now - lastSeen.withLock({ $0 }) > Self.longestSilence { await examine() }
    // Not the time by then: the program may have been suspended again meanwhile.
    lastSeen.withLock { $0 = max($0, now) }
  }

  /// Closes a listening socket that refuses connections: it is then bound again.
  func examine() async {
    let channel = state.withLock { $0.isRunning ? $0.channel : nil }
    guard let channel, await Self.isRefused(at: channel) else { return }
    state.withLock { state in
      // Whoever waits until the proxy listens waits for the next socket.
      if state.channel === channel { state.channel = nil }
    }
    channel.close(promise: nil)
  }

  /// Returns whether connections to a listening socket are refused. Any other failure may have
  /// another reason, such as too many clients.
  private static func isRefused(at channel: any Channel) async -> Bool {
    guard let address = channel.localAddress else { return false }
    do {
      let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(.seconds(1)).connect(to: address).get()
      client.close(promise: nil)
      return false
    } catch {
      return (error as? IOError)?.errnoCode == ECONNREFUSED
    }
  }

  // MARK: Connections

  private func accept(_ channel: any Channel) throws {
    let connection = ProxyConnection(
      setup, isSurplus: count.isSurplus(channel), respond: respond)
    let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
    let id = ObjectIdentifier(connection)
    let isWelcome = state.withLock { state in
      guard !state.isOver else { return false }
      state.connections[id] = bound
      return true
    }
    channel.closeFuture.whenComplete { [self] _ in
      state.withLock { $0.connections[id] = nil }
    }
    guard isWelcome else { throw Self.closed }
    try channel.pipeline.syncOperations.addHandler(connection)
  }

  // MARK: Ending

  package func stop() async {
    // One that never ran: a later `run()` fails, and so do all waiters.
    state.withLock { if case .idle = $0.phase { $0.phase = .over(Self.closed) } }
    beginStopping()
    while state.withLock({ !$0.isOver }) { await Self.pause() }
  }

  private func beginStopping() {
    setup.phase.stop()
    count.close()
    let channel = state.withLock { state in
      if state.isRunning { state.phase = .stopping }
      return state.channel
    }
    if let channel { Self.close(channel) }
  }

  /// Closes a listening socket after the clients that it has accepted were set up: they would be
  /// closed with it.
  private static func close(_ channel: any Channel) {
    channel.setOption(.autoRead, value: false).whenComplete { _ in
      // Connections are set up by tasks of these loops, and then of the socket's own.
      let loops = Array(MultiThreadedEventLoopGroup.singleton.makeIterator())
      EventLoopFuture.andAllComplete(loops.map { $0.submit {} }, on: channel.eventLoop)
        .whenComplete { _ in channel.close(promise: nil) }
    }
  }

  /// Gives running responses their time, then ends them, and waits for what responds.
  func settle(within time: Duration) async {
    setup.phase.stop()
    let deadline = ContinuousClock.now + time
    while true {
      let connections = state.withLock { Array($0.connections.values) }
      // One that was accepted while the socket was being closed is counted before it is listed.
      let isLate = ContinuousClock.now >= deadline
      if connections.isEmpty, count.current == 0 || isLate { break }
      for connection in connections {
        connection.eventLoop.execute {
          if isLate { connection.value.cut() } else { connection.value.stop() }
        }
      }
      await Self.pause()
    }
    // A responder may outlive its connection for a moment: its request is logged before the end. Those
    // of closed connections are cancelled.
    while setup.hasResponders { await Self.pause() }
  }

  /// Not a sleep of this task, which could be cancelled: the responses have their time.
  private static func pause() async {
    try? await MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: .milliseconds(20)) {}
      .futureResult.get()
  }

  private static let closed = CacheProxyError(
    .closed, "The proxy was stopped.", remedy: "Create another one.")

  func waitUntilListening() async throws {
    await examineIfSuspended()
    while try !isListening() { try await Task.sleep(for: .milliseconds(2)) }
    try Task.checkCancellation()
  }

  /// - Throws: the error with which it has ended.
  private func isListening() throws -> Bool {
    try state.withLock { state in
      if case .over(let error) = state.phase { throw error }
      return state.channel != nil
    }
  }
}
