// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import Refrain
import RefrainLocks

/// A listening socket, which is bound again if it is lost, and its connections.
final class Listener: Sendable {
  private let setup: ConnectionSetup
  private let listening: ListeningPlace
  private let place: ProxyPlace
  private let count: ConnectionCount
  private let respond: ProxyConnection.Respond
  private let warn: @Sendable (String) -> Void
  private let probe = ListenerProbe()
  private let state = Mutex(State())

  private struct State {
    enum Phase { case idle, running, stopping, over }
    var phase = Phase.idle
    var channel: (any Channel)?
    var failure: (any Error)?
    /// Kept if the socket is lost: URLs with this port are in use.
    var port: Int?
    var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    var nextID: UInt64 = 0
    var connections: [ObjectIdentifier: NIOLoopBound<ProxyConnection>] = [:]
    var runEnded: [CheckedContinuation<Void, Never>] = []
    /// The newest examination of the socket, running or done.
    var examination: Task<Void, Never>?
  }

  /// - Parameters:
  ///   - listening: where to listen.
  ///   - place: receives the address.
  ///   - count: counts its connections.
  ///   - warn: receives why the socket cannot be bound again, once for each time that it is lost.
  ///   - respond: responds to a request that cannot be served at once.
  init(
    _ setup: ConnectionSetup, at listening: ListeningPlace, _ place: ProxyPlace,
    _ count: ConnectionCount, warn: @escaping @Sendable (String) -> Void,
    respond: @escaping ProxyConnection.Respond
  ) {
    (self.setup, self.listening, self.place) = (setup, listening, place)
    (self.count, self.warn, self.respond) = (count, warn, respond)
  }

  /// The address on which it listens, or will listen again.
  var expectedAddress: ListeningAddress? {
    if let address = place.address { return address }
    let wanted = listening.address
    let port = state.withLock { $0.port } ?? wanted.port
    return port == 0 ? nil : ListeningAddress(host: wanted.host, port: port)
  }

  // MARK: Running

  /// - Parameters:
  ///   - mostFailures: the number of failures in a row to bind the socket again, after which this
  ///     fails.
  ///   - atStart: called before anything listens; if it throws, nothing does.
  ///   - atEnd: called once nothing listens any more, if `atStart` was called.
  func run(
    mostFailures: Int = 40, atStart: () async throws -> Void, atEnd: () async -> Void
  ) async throws {
    let before = state.withLock { state in
      defer { if state.phase == .idle { state.phase = .running } }
      return state.phase
    }
    guard before == .idle else {
      if before == .over { throw Self.closed }
      throw CacheProxyError(
        .alreadyRunning, "The proxy is already running.", remedy: "Create another one.")
    }
    let result: Result<Void, any Error>
    do {
      try await atStart()
      try await withTaskCancellationHandler {
        try await listenUntilStopped(mostFailures)
      } onCancel: {
        beginStopping()
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await atEnd()
    end(result)
    try result.get()
    try Task.checkCancellation()
  }

  private func listenUntilStopped(_ mostFailures: Int) async throws {
    var failures = 0
    while true {
      do {
        let channel = try await bind()
        failures = 0
        try await channel.closeFuture.get()
      } catch {
        // At first the user has to fix the error; later the system may need a moment.
        guard state.withLock({ $0.port }) != nil, failures < mostFailures else { throw error }
        if failures == 0 { warn("\(error)") }
        failures += 1
        try? await Task.sleep(for: .milliseconds(min(25 * failures, 500)))
      }
      place.address = nil
      let goesOn = state.withLock { state in
        state.channel = nil
        return state.phase == .running
      }
      guard goesOn else { return }
    }
  }

  private func bind() async throws -> any Channel {
    let wanted = listening.address
    let port = state.withLock { $0.port } ?? wanted.port
    let channel = try await listening.open(port: port, count) { [self] in
      try accept($0)
    }
    let bound = ListeningAddress(
      host: channel.localAddress?.ipAddress ?? wanted.host,
      port: channel.localAddress?.port ?? port)
    place.address = bound
    let (waiters, isLate) = state.withLock { state in
      state.port = bound.port
      state.channel = channel
      defer { state.waiters = [:] }
      return (Array(state.waiters.values), state.phase != .running)
    }
    if isLate {
      channel.close(promise: nil)
    } else {
      // Fails if it is closed already.
      try? await channel.setOption(.autoRead, value: true).get()
    }
    for waiter in waiters { waiter.resume() }
    return channel
  }

  /// The time between two calls of `beat()`, or of `examineIfSuspended()`, while the program runs.
  static let pace = Duration.seconds(2)

  /// Records that the program runs.
  func beat() -> Bool { probe.beat() }

  /// Examines the listening socket if the program was probably suspended.
  ///
  /// - Returns: the newest examination, which another caller may have begun.
  @discardableResult
  func examineIfSuspended() -> Task<Void, Never>? {
    state.withLock { state in probe.beat() ? examine(&state) : state.examination }
  }

  /// Closes a listening socket that accepts no connections any more: it is then bound again.
  /// `waitUntilListening()` waits for the returned task.
  @discardableResult
  func examine() -> Task<Void, Never> { state.withLock { examine(&$0) } }

  private func examine(_ state: inout State) -> Task<Void, Never> {
    let task = Task { [before = state.examination] in
      await before?.value
      await closeIfRefused()
    }
    state.examination = task
    return task
  }

  private func closeIfRefused() async {
    let channel = state.withLock { $0.phase == .running ? $0.channel : nil }
    guard let channel, await ListenerProbe.isRefused(at: channel) else { return }
    state.withLock { state in
      // Whoever waits until the proxy listens waits for the next socket.
      if state.channel === channel { state.channel = nil }
    }
    channel.close(promise: nil)
  }

  // MARK: Connections

  private func accept(_ channel: any Channel) throws {
    let connection = ProxyConnection(
      setup, isSurplus: count.isSurplus(channel), respond: respond)
    let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
    let id = ObjectIdentifier(connection)
    let isWelcome = state.withLock { state in
      guard state.phase != .over else { return false }
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

  func stop() async {
    // One that never ran: a later `run()` fails, and so do all waiters.
    end(.success(()), onlyIfIdle: true)
    beginStopping()
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.phase == .over || state.phase == .idle { return true }
        state.runEnded.append(continuation)
        return false
      }
      if isOver { continuation.resume() }
    }
  }

  private func beginStopping() {
    setup.phase.stop()
    let channel = state.withLock { state in
      if state.phase == .running { state.phase = .stopping }
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

  private func end(_ result: Result<Void, any Error>, onlyIfIdle: Bool = false) {
    let before = state.withLock { state in
      let before = state
      guard before.phase == .idle || !onlyIfIdle else { return State() }
      (state.phase, state.waiters, state.runEnded) = (.over, [:], [])
      if case .failure(let error) = result { state.failure = error }
      return before
    }
    let error: any Error = if case .failure(let error) = result { error } else { Self.closed }
    for waiter in before.waiters.values { waiter.resume(throwing: error) }
    for continuation in before.runEnded { continuation.resume() }
  }

  private static let closed = CacheProxyError(
    .closed, "The proxy was stopped.", remedy: "Create another one.")

  func waitUntilListening() async throws {
    await examineIfSuspended()?.value
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome = state.withLock { state -> Result<Void, any Error>? in
          if Task.isCancelled { return .failure(CancellationError()) }
          if state.channel != nil { return .success(()) }
          if state.phase == .over { return .failure(state.failure ?? Self.closed) }
          state.waiters[id] = continuation
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?
        .resume(throwing: CancellationError())
    }
  }
}

/// Detects the loss of a listening socket of which no event is reported: iOS takes it from a
/// suspended program (Apple's Technical Note TN2277).
private final class ListenerProbe: Sendable {
  /// A program that was silent for longer was probably suspended.
  private static let longestSilence = Duration.seconds(6)

  private let lastBeat = Mutex(ContinuousClock.now)

  /// Records that the program runs. Returns whether it was probably suspended before.
  func beat() -> Bool {
    let now = ContinuousClock.now
    return lastBeat.withLock { last in
      defer { last = now }
      return now - last > Self.longestSilence
    }
  }

  /// Returns whether connections to a listening socket are refused. Any other failure may have
  /// another reason, such as too many clients.
  static func isRefused(at channel: any Channel) async -> Bool {
    guard let address = channel.localAddress else { return false }
    do {
      let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(.seconds(1)).connect(to: address).get()
      client.close(promise: nil)
      return false
    } catch let error as IOError {
      return error.errnoCode == ECONNREFUSED
    } catch {
      return false
    }
  }
}
