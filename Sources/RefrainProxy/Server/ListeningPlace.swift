// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import Refrain

/// Where connections are accepted.
package enum ListeningPlace: Sendable {
  case address(ListeningAddress)
  case socket(ListeningSocket)

  /// The address, with port 0 for any free one.
  var address: ListeningAddress {
    switch self {
    case .address(let address): address
    case .socket(let socket): socket.address
    }
  }

  /// Opens a listening channel, which accepts nobody before its option `autoRead` is set: clients may
  /// wait already, and the address by which requests are recognized as meant for this proxy is not
  /// known yet.
  ///
  /// - Parameters:
  ///   - port: replaces the port of an address: the one that it received before.
  ///   - accept: adds the handlers of a connection.
  /// - Throws: `CacheProxyError`, `.addressInUse`, `.addressUnavailable`.
  func open(
    port: Int?, _ count: ConnectionCount,
    accept: @Sendable @escaping (any Channel) throws -> Void
  ) async throws -> any Channel {
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.autoRead, value: false)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AcceptGuard(count: count))
        }
      }
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.maxMessagesPerRead, value: 2)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try accept(channel) }
      }
    switch self {
    case .socket(let socket):
      return try await Self.open(bootstrap, socket)
    case .address(let address):
      let port = port ?? address.port
      do {
        return try await bootstrap.bind(host: address.host, port: port).get()
      } catch {
        throw Self.explained(error, address.host, port)
      }
    }
  }

  private static func open(
    _ bootstrap: ServerBootstrap, _ socket: ListeningSocket
  ) async throws -> any Channel {
    let descriptor = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
    do {
      guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "fcntl") }
      // It is closed with the channel, also if that cannot be made.
      let channel = try await bootstrap.withBoundSocket(descriptor).get()
      try await Self.lengthenQueue(of: channel)
      return channel
    } catch {
      throw Self.explained(error, socket.address.host, socket.address.port)
    }
  }

  /// Lets many connections wait to be accepted: for a given socket, SwiftNIO sets a short queue.
  private static func lengthenQueue(of channel: any Channel) async throws {
    try await channel.eventLoop.submit {
      try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self
      ) {
        // If it fails, the queue stays short.
        _ = listen($0, 1024)
      }
    }.get()
  }

  /// Returns the error for the user if the proxy cannot listen.
  private static func explained(_ error: any Error, _ address: String, _ port: Int) -> any Error {
    let place = ListeningAddress(host: address, port: port)
    func unavailable(
      _ reason: String, remedy: String = "Use an address of this machine."
    ) -> CacheProxyError {
      CacheProxyError(.addressUnavailable, reason, remedy: remedy)
    }
    if let unknown = error as? SocketAddressError.UnknownHost {
      return unavailable(
        "The proxy cannot listen on \(place): '\(address)' is not an address, and no address of that "
          + "name was found (\(unknown.errorDescription)).",
        remedy: "Use an address of this machine, as in 127.0.0.1, or 0.0.0.0 for all of them.")
    }
    switch (error as? IOError)?.errnoCode {
    case nil: return unavailable("The proxy cannot listen on \(place): \(error).")
    case EADDRINUSE:
      return CacheProxyError(
        .addressInUse, "\(place) is already in use.",
        remedy: "Choose another port, or use the proxy there if it is this program.")
    case EACCES:
      return unavailable(
        "Listening on \(place) is not permitted.", remedy: "Choose a port above 1023.")
    case let code?:
      return unavailable(
        "The proxy cannot listen on \(place): \(String(cString: strerror(code))).")
    }
  }
}
