// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix

#if os(Linux)
  import CLinuxSystem
#endif

/// Where connections are accepted.
enum ListeningPlace: Sendable {
  /// - Parameter isShared: whether further sockets of this user may listen there too.
  case address(ListeningAddress, isShared: Bool)
  case socket(ListeningSocket)

  /// Opens the listening channel.
  ///
  /// - Parameters:
  ///   - port: replaces the port of an address: the one that it received before.
  ///   - warn: receives a problem that does not prevent listening.
  /// - Throws: `CacheProxyError`, `.addressInUse`, `.addressUnavailable`.
  func open(
    _ bootstrap: ServerBootstrap, port: Int? = nil, warn: @Sendable (String) -> Void
  ) async throws -> any Channel {
    switch self {
    case .socket(let socket):
      return try await Self.open(bootstrap, socket)
    case .address(let address, let isShared):
      let port = port ?? address.port
      do {
        guard isShared else {
          return try await bootstrap.bind(host: address.host, port: port).get()
        }
        let channel =
          try await bootstrap
          .serverChannelOption(.socketOption(.init(rawValue: SO_REUSEPORT)), value: 1)
          .bind(host: address.host, port: port).get()
        try await Self.prefer(channel, warn)
        return channel
      } catch {
        throw Listener.explained(error, address.host, port, isShared: isShared)
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
      throw Listener.explained(error, socket.address.host, socket.address.port)
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

  /// Directs new connections to this socket, away from one of an earlier process that is about to
  /// end: connections that have not been accepted when a socket is closed are reset.
  private static func prefer(_ channel: any Channel, _ warn: @Sendable (String) -> Void)
    async throws
  {
    #if os(Linux)
      let failure = try await channel.eventLoop.submit { () -> CInt? in
        try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
          of: NIOBSDSocket.Handle.self
        ) { refrain_prefer_second_listener($0) == 0 ? nil : errno } ?? nil
      }.get()
      guard let failure else { return }
      warn(
        "New connections cannot be directed to this process (\(String(cString: strerror(failure))))."
          + " Some may be reset when an earlier process at its port ends.")
    #endif
  }
}
