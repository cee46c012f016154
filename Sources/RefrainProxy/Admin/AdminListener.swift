// SPDX-License-Identifier: MIT
import NIOCore
import NIOPosix
import Refrain
import RefrainLocks

/// The listening socket for a proxy's operator, and its connections. It stays open until all
/// clients of the proxy itself have been served: the state of a proxy that ends can be watched.
final class AdminListener: Sendable {
  private let service: ProxyService
  /// Where to listen; port 0 for any free one.
  private let wanted: ListeningAddress
  private let place: ListeningPlace
  private let responders = RunningResponders()
  private let state = Mutex(State())

  private struct State {
    var channel: (any Channel)?
    var address: ListeningAddress?
    var isStopped = false
    var connections: [ObjectIdentifier: NIOLoopBound<ProxyConnection>] = [:]
  }

  /// Far more than watchers need, and few enough to leave descriptors to clients.
  private static let mostConnections = 64

  init(service: ProxyService, at address: ListeningAddress) {
    self.service = service
    wanted = address
    let configuration = service.configuration
    place =
      configuration.adminSocket.map { .socket($0) }
      ?? .address(address, isShared: configuration.maySharePort)
  }

  /// The address on which it listens; nil while it does not.
  var address: ListeningAddress? { state.withLock { $0.address } }

  /// - Throws: `CacheProxyError`, `.addressInUse`, `.addressUnavailable`.
  func start() async throws {
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 64)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.maxMessagesPerRead, value: 2)
      .childChannelInitializer { [self] channel in
        channel.eventLoop.makeCompletedFuture { try accept(channel) }
      }
    let channel = try await place.open(bootstrap) { [service] in
      service.cache.report(warning: $0)
    }
    state.withLock { state in
      state.channel = channel
      state.address = ListeningAddress(
        host: channel.localAddress?.ipAddress ?? wanted.host,
        port: channel.localAddress?.port ?? wanted.port)
    }
  }

  private func accept(_ channel: any Channel) throws {
    let id = ObjectIdentifier(channel)
    let isSurplus = state.withLock { $0.connections.count >= Self.mostConnections }
    let connection = ProxyConnection(
      service: service, isSurplus: isSurplus, isForOperator: true, responders: responders
    ) { [self] request, writer in
      await AdminResponder(service: service, request: request, writer: writer)
        .run(listening: address)
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

  /// Closes the socket and all connections, and waits for running handlers.
  func stop() async {
    let (channel, connections) = state.withLock { state in
      state.isStopped = true
      state.address = nil
      return (state.channel, Array(state.connections.values))
    }
    // Fails if it is closed already.
    try? await channel?.close().get()
    for connection in connections {
      connection.eventLoop.execute { connection.value.cut() }
    }
    await responders.waitForAll()
  }
}
