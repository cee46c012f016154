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
  private let setup: ConnectionSetup
  private let routes: Routes
  private let place: ListeningPlace
  /// Receives what the operator has to know.
  private let warn: @Sendable (String) -> Void
  private let handlers: [any ProxyHandler]
  /// More connections than watchers need, and few enough for the descriptors that clients leave.
  private let count = ConnectionCount { DescriptorBudget.forOperator }
  private let state = Mutex(State())

  private struct State {
    var channel: (any Channel)?
    var address: ListeningAddress?
    /// The last one on which it listened.
    var knownAddress: ListeningAddress?
    /// Kept if the socket is lost: watchers know this port.
    var port: Int?
    /// Binds the socket again.
    var keeping: Task<Void, Never>?
    var isStopped = false
    var connections: [ObjectIdentifier: NIOLoopBound<ProxyConnection>] = [:]
  }

  /// - Parameter handlers: asked in this order for each request whose `Host` is the proxy's.
  init(
    _ setup: ConnectionSetup, _ routes: Routes, at place: ListeningPlace,
    _ handlers: [any ProxyHandler], warn: @escaping @Sendable (String) -> Void
  ) {
    self.setup = setup.forOperator(RunningResponders())
    (self.routes, self.place, self.handlers, self.warn) = (routes, place, handlers, warn)
  }

  /// The address on which it listens; nil while it does not.
  package var address: ListeningAddress? { state.withLock { $0.address } }

  /// The address by which requests are recognized as meant for this listener: those of connections
  /// that were accepted before the socket was lost, too.
  private var knownAddress: ListeningAddress? { state.withLock { $0.knownAddress } }

  /// The number of watchers connected now.
  package var connectionCount: Int { count.current }

  /// - Throws: `CacheProxyError`, `.addressInUse`, `.addressUnavailable`.
  package func start() async throws {
    let channel = try await bind()
    state.withLock { $0.keeping = Task { await keepListening(channel) } }
  }

  /// Binds the socket again whenever it is lost, until `stop()`. The proxy serves its clients
  /// meanwhile.
  private func keepListening(_ first: any Channel) async {
    var failures = 0
    // Fails if it is closed already.
    try? await first.closeFuture.get()
    while true {
      let isStopped = state.withLock { state in
        (state.channel, state.address) = (nil, nil)
        return state.isStopped
      }
      if isStopped { return }
      do {
        let channel = try await bind()
        failures = 0
        try await channel.closeFuture.get()
      } catch {
        if failures == 0 { warn("\(error)") }
        // The system may need a moment. `stop()` ends the pause.
        failures += 1
        try? await Task.sleep(for: .milliseconds(min(25 * failures, 500)))
      }
    }
  }

  private func bind() async throws -> any Channel {
    let port = state.withLock { $0.port }
    let channel = try await place.open(port: port, count) { [self] in try accept($0) }
    let bound = ListeningAddress(
      host: channel.localAddress?.ipAddress ?? place.address.host,
      port: channel.localAddress?.port ?? place.address.port)
    let isLate = state.withLock { state in
      (state.port, state.knownAddress) = (bound.port, bound)
      guard !state.isStopped else { return true }
      (state.channel, state.address) = (channel, bound)
      return false
    }
    if isLate {
      channel.close(promise: nil)
    } else {
      // Fails if it is closed already.
      try? await channel.setOption(.autoRead, value: true).get()
    }
    return channel
  }

  private func accept(_ channel: any Channel) throws {
    let id = ObjectIdentifier(channel)
    let connection = ProxyConnection(setup, isSurplus: count.isSurplus(channel)) {
      [self] request, writer in
      await respond(to: request, writer)
    }
    let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
    let isWelcome = state.withLock { state in
      guard !state.isStopped else { return false }
      state.connections[id] = bound
      return true
    }
    channel.closeFuture.whenComplete { [self] _ in
      state.withLock { $0.connections[id] = nil }
    }
    guard isWelcome else { throw ChannelError.ioOnClosedChannel }
    try channel.pipeline.syncOperations.addHandler(connection)
  }

  private func respond(to request: ClientRequest, _ writer: ResponseWriter) async {
    do {
      try await writer.send(response(to: request, writer), to: request.head)
    } catch let error as HTTPError {
      await writer.say(error, to: request.head)
    } catch is ClientDisconnected {
      await writer.abort()
    } catch is CancellationError {
      await writer.abort()
    } catch {
      await writer.say(HTTPError(500, "\(error)"), to: request.head)
    }
  }

  private func response(
    to request: ClientRequest, _ writer: ResponseWriter
  ) async throws -> ProxyResponse {
    try routes.checkHost(of: request, listening: knownAddress)
    let target = request.head.target
    guard target.hasPrefix("/") else { throw HTTPError(400, "The request target is not a path.") }
    let asked = ProxyRequest(request, target: target, body: writer.body(limit:))
    for handler in handlers {
      if let response = try await handler.response(to: asked) { return response }
    }
    throw HTTPError(404, "Nothing exists at this path.")
  }

  /// Closes the socket and all connections, and waits for running handlers.
  package func stop() async {
    let (channel, keeping, connections) = state.withLock { state in
      state.isStopped = true
      state.address = nil
      return (state.channel, state.keeping, Array(state.connections.values))
    }
    // Fails if it is closed already.
    try? await channel?.close().get()
    keeping?.cancel()
    await keeping?.value
    for connection in connections {
      connection.eventLoop.execute { connection.value.cut() }
    }
    await setup.responders.waitForAll()
  }
}
