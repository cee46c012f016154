// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import Refrain
import RefrainLocks

#if canImport(Darwin)
  import Darwin
#endif

/// The address on which a proxy listens.
public struct ListeningAddress: Sendable, Hashable, CustomStringConvertible {
  /// A numeric address, without brackets: `127.0.0.1`, `::1`.
  public var host: String
  public var port: Int

  public init(host: String, port: Int) {
    (self.host, self.port) = (host, port)
  }

  /// As in a URL: `127.0.0.1:8573`, `[::1]:8573`.
  public var description: String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}

/// A TCP socket that listens already: a service manager opens it before it starts the program
/// (systemd.socket(5)), and keeps it open while the program is replaced.
public struct ListeningSocket: Sendable, Hashable {
  /// The caller's descriptor. A proxy uses a duplicate, and closes that alone.
  public let descriptor: CInt
  /// The address to which the socket is bound.
  public let address: ListeningAddress

  /// Examines a descriptor.
  ///
  /// - Throws: `CacheProxyError`, `.addressUnavailable` if it is not a TCP socket that listens.
  public init(descriptor: CInt) throws(CacheProxyError) {
    self.descriptor = descriptor
    var listens: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0, listens == 1,
      let address = Self.address(of: descriptor)
    else {
      throw CacheProxyError(
        .addressUnavailable, "Descriptor \(descriptor) is not a TCP socket that listens.",
        remedy: "In a socket unit, write ListenStream= with a port, and Accept=no.")
    }
    self.address = address
  }

  private static func address(of descriptor: CInt) -> ListeningAddress? {
    var storage = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let bound: SocketAddress? = withUnsafeMutableBytes(of: &storage) { bytes in
      guard let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress,
        getsockname(descriptor, address, &size) == 0
      else { return nil }
      return switch CInt(address.pointee.sa_family) {
      case AF_INET: SocketAddress(bytes.load(as: sockaddr_in.self))
      case AF_INET6: SocketAddress(bytes.load(as: sockaddr_in6.self))
      default: nil
      }
    }
    guard let host = bound?.ipAddress, let port = bound?.port else { return nil }
    return ListeningAddress(host: host, port: port)
  }
}

/// Where a proxy listens, and by which address requests are recognized as meant for it.
package final class ListeningPlace: Sendable {
  /// Port 0 stands for any free one.
  let wanted: ListeningAddress
  private let socket: ListeningSocket?
  private let state: Mutex<(channel: (any Channel)?, known: ListeningAddress?)>

  private static let longestQueue: CInt = 1024

  package init(_ address: ListeningAddress, _ socket: ListeningSocket? = nil) {
    (wanted, self.socket) = (socket?.address ?? address, socket)
    state = Mutex((nil, wanted.port == 0 ? nil : wanted))
  }

  var channel: (any Channel)? { state.withLock { $0.channel } }

  package var address: ListeningAddress? { state.withLock { $0.channel == nil ? nil : $0.known } }

  /// The address on which the proxy listens, has listened, or is going to: it is bound there again,
  /// and meanwhile URLs with its port are in use, and earlier connections are served.
  var known: ListeningAddress? { state.withLock { $0.known } }

  /// Opens a listening channel, which accepts nobody before its option `autoRead` is set: clients
  /// may wait already, and the address by which requests are recognized is not known yet. `handler`
  /// returns that of a connection, given whether to refuse it.
  func open(
    _ count: ConnectionCount, handler: @Sendable @escaping (Bool) -> any ChannelHandler
  ) async throws -> any Channel {
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: Self.longestQueue)
      .serverChannelOption(.autoRead, value: false)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AcceptGuard(count: count))
        }
      }
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.maxMessagesPerRead, value: 2)
      .childChannelOption(.autoRead, value: false)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(handler(count.isSurplus(channel)))
        }
      }
    let asked = ListeningAddress(host: wanted.host, port: known?.port ?? wanted.port)
    do {
      let channel: any Channel
      if let socket {
        let descriptor = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "fcntl") }
        // It is closed with the channel, also if that cannot be made.
        channel = try await bootstrap.withBoundSocket(descriptor).get()
        // SwiftNIO sets a short queue. If this fails, it stays short.
        _ = listen(socket.descriptor, Self.longestQueue)
      } else {
        channel = try await bootstrap.bind(host: asked.host, port: asked.port).get()
      }
      let bound = ListeningAddress(
        host: channel.localAddress?.ipAddress ?? asked.host,
        port: channel.localAddress?.port ?? asked.port)
      state.withLock { $0 = (channel, bound) }
      channel.closeFuture.whenComplete { [self] _ in forget(channel) }
      return channel
    } catch {
      let code = (error as? IOError)?.errnoCode
      if code == EADDRINUSE {
        throw CacheProxyError(
          .addressInUse, "\(asked) is already in use.",
          remedy: "Choose another port, or use the proxy there if it is this program.")
      }
      let other = error is SocketAddressError.UnknownHost ? "no such address was found" : "\(error)"
      let cause = code.map { String(cString: strerror($0)) } ?? other
      throw CacheProxyError(
        .addressUnavailable, "The proxy cannot listen on \(asked): \(cause).",
        remedy: "Use an address of this machine, as in 127.0.0.1, and a port above 1023.")
    }
  }

  func forget(_ channel: any Channel) {
    state.withLock { if $0.channel === channel { $0.channel = nil } }
  }
}

/// Why a proxy cannot be created or cannot run: a code to act on, what failed and why, and what to
/// do about it.
public struct CacheProxyError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: String, Sendable, Hashable, Codable {
    /// The configuration would make an open proxy, or contains an invalid token, origin, host,
    /// name, path or limit.
    case invalidConfiguration
    /// The port is in use.
    case addressInUse
    /// Nothing can listen at the address.
    case addressUnavailable
    /// The proxy does not listen yet, so that its port is unknown.
    case notListening
    /// The proxy runs already.
    case alreadyRunning
    /// The proxy has ended.
    case closed
  }

  public var code: Code
  /// The failure and its cause, in one sentence.
  public var reason: String
  /// The action that may help the user, in one sentence.
  public var remedy: String

  public init(_ code: Code, _ reason: String, remedy: String) {
    (self.code, self.reason, self.remedy) = (code, reason, remedy)
  }

  public var description: String { "\(reason) \(remedy)" }
}
