// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import Refrain
import RefrainLocks

/// A listening socket, which is bound again if it is lost, and its connections.
package final class Listener: Sendable {
  private let setup: ConnectionSetup
  package let place: ListeningPlace
  package let connections: ConnectionCount
  private let phase = Mutex(Phase.idle)

  private enum Phase {
    case idle, running, stopping
    /// The error is for whoever waits until it listens.
    case over(any Error)

    var isRunning: Bool { if case .running = self { true } else { false } }
    var isOver: Bool { if case .over = self { true } else { false } }
  }

  init(_ setup: ConnectionSetup, at place: ListeningPlace, _ connections: ConnectionCount) {
    (self.setup, self.place, self.connections) = (setup, place, connections)
  }

  // MARK: Running

  /// If `atStart` throws, nothing listens; `atEnd` is called once nothing does any more.
  func run(atStart: () async throws -> Void, atEnd: () async -> Void) async throws {
    try phase.withLock { phase in
      switch phase {
      case .idle: phase = .running
      case .over: throw Self.closed
      case .running, .stopping:
        throw CacheProxyError(
          .alreadyRunning, "The proxy is already running.", remedy: "Create another one.")
      }
    }
    var failure: (any Error)?
    do {
      try await atStart()
      try await withTaskCancellationHandler {
        try await listenUntilStopped()
      } onCancel: {
        beginStopping()
      }
    } catch {
      failure = error
    }
    await atEnd()
    phase.withLock { [failure] in $0 = .over(failure ?? Self.closed) }
    if let failure { throw failure }
    try Task.checkCancellation()
  }

  /// Listens until `stop()`, in a task of its own. Throws as `run`.
  package func start() async throws {
    Task {
      try? await run(atStart: {}, atEnd: { await settle(within: .zero) })
    }
    try await waitUntilListening()
  }

  /// The failures in a row to bind a lost socket again, after which it is given up: never that of an
  /// operator, whose end would stop the service, for which others listen too.
  private static let mostFailures = 40

  private func listenUntilStopped() async throws {
    var (failures, hasListened) = (0, false)
    repeat {
      do {
        let channel = try await place.open(connections) { [setup] in ProxyConnection(setup, $0) }
        (failures, hasListened) = (0, true)
        if phase.withLock(\.isRunning) {
          // Fails if it is closed already.
          try? await channel.setOption(.autoRead, value: true).get()
        } else {
          // Whoever stopped may not have seen it.
          channel.close(promise: nil)
        }
        try await channel.closeFuture.get()
      } catch {
        // At first the user has to fix the error; later the system may need a moment.
        guard hasListened, setup.front == nil || failures < Self.mostFailures else { throw error }
        // Once for each time that the socket is lost.
        if failures == 0 { setup.service.cache.report(warning: "\(error)") }
        failures += 1
        try? await Task.sleep(for: .milliseconds(min(25 * failures, 500)))
      }
    } while phase.withLock(\.isRunning)
  }

  /// Examines the listening socket where the system takes it from a suspended program, and reports
  /// no event (Apple's Technical Note TN2277).
  func examineIfSuspended() async {
    #if os(iOS) || os(tvOS) || os(visionOS)
      await examine()
    #endif
  }

  /// Closes a listening socket that refuses connections: it is then bound again. Any other failure
  /// may have another reason, such as too many clients.
  func examine() async {
    guard phase.withLock(\.isRunning), let channel = place.channel,
      let address = channel.localAddress
    else { return }
    do {
      let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(.seconds(1)).connect(to: address).get()
      client.close(promise: nil)
    } catch let error as IOError where error.errnoCode == ECONNREFUSED {
      // Whoever waits until the proxy listens waits for the next socket.
      place.forget(channel)
      channel.close(promise: nil)
    } catch {}
  }

  // MARK: Ending

  package func stop() async {
    // One that never ran: a later `run()` fails, and so do all waiters.
    phase.withLock { if case .idle = $0 { $0 = .over(Self.closed) } }
    beginStopping()
    while phase.withLock({ !$0.isOver }) { await Self.pause() }
  }

  private func beginStopping() {
    setup.service.stop()
    connections.close()
    phase.withLock { if $0.isRunning { $0 = .stopping } }
    guard let channel = place.channel else { return }
    // Closed after the clients that it has accepted were set up: they would be closed with it.
    channel.setOption(.autoRead, value: false).whenComplete { _ in
      // Connections are set up by tasks of these loops, and then of the socket's own.
      let loops = Array(MultiThreadedEventLoopGroup.singleton.makeIterator())
      EventLoopFuture.andAllComplete(loops.map { $0.submit {} }, on: channel.eventLoop)
        .whenComplete { _ in channel.close(promise: nil) }
    }
  }

  /// Gives running responses their time, then ends them, and waits for what responds.
  func settle(within time: Duration) async {
    setup.service.stop()
    let deadline = ContinuousClock.now + time
    while true {
      let channels = connections.channels
      if channels.isEmpty { break }
      let isLate = ContinuousClock.now >= deadline
      for channel in channels {
        channel.eventLoop.execute {
          // One that was accepted while the socket was being closed may not be set up yet.
          let connection = try? channel.pipeline.syncOperations.handler(type: ProxyConnection.self)
          if isLate { connection?.abortAnswer() } else { connection?.stop() }
        }
      }
      await Self.pause()
    }
    // A responder may outlive its connection for a moment: its request is logged before the end.
    // Those of closed connections are cancelled.
    while setup.responders.load(ordering: .acquiring) > 0 { await Self.pause() }
  }

  /// Not a sleep of this task, which could be cancelled: the responses have their time.
  private static func pause() async {
    try? await MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: .milliseconds(20)) {}
      .futureResult.get()
  }

  private static let closed = CacheProxyError(
    .closed, "The proxy was stopped.", remedy: "Create another one.")

  /// Throws the error with which it has ended.
  func waitUntilListening() async throws {
    await examineIfSuspended()
    while place.channel == nil {
      if case .over(let error) = phase.withLock({ $0 }) { throw error }
      try await Task.sleep(for: .milliseconds(2))
    }
    try Task.checkCancellation()
  }
}
