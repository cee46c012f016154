// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix

/// Where connections are accepted.
enum ListeningPlace: Sendable {
  case address(ListeningAddress)
  case socket(ListeningSocket)

  /// Opens the listening channel.
  ///
  /// - Parameters:
  ///   - port: replaces the port of an address: the one that it received before.
  /// - Throws: `CacheProxyError`, `.addressInUse`, `.addressUnavailable`.
  func open(_ bootstrap: ServerBootstrap, port: Int? = nil) async throws -> any Channel {
    switch self {
    case .socket(let socket):
      return try await Self.open(bootstrap, socket)
    case .address(let address):
      let port = port ?? address.port
      do {
        return try await bootstrap.bind(host: address.host, port: port).get()
      } catch {
        throw Listener.explained(error, address.host, port)
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
}
