// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// The sockets of the connections that libcurl keeps for later requests. Used on the thread of
  /// libcurl alone.
  ///
  /// What arrives there between two requests belongs to no response: the rest of one that was longer
  /// than its Content-Length, an error, or the end of the connection (RFC 9112 §9.5). The next
  /// request would take it for its response.
  final class KeptConnections {
    /// The local end of a connection, by which libcurl names it.
    private struct End: Hashable {
      var port: Int
      var isIPv6: Bool
    }

    private var sockets: [End: curl_socket_t] = [:]

    func add(_ socket: curl_socket_t) {
      guard socket != CURL_SOCKET_BAD, let end = Self.end(of: socket) else { return }
      sockets[end] = socket
    }

    /// Called before a socket is closed.
    func remove(_ socket: curl_socket_t) {
      guard let end = sockets.first(where: { $0.value == socket })?.key else { return }
      sockets[end] = nil
    }

    /// Whether something has arrived on a connection over which no request was sent yet.
    ///
    /// - Parameters:
    ///   - address: the local address.
    ///   - port: the local port.
    func isUnusable(address: String, port: Int) -> Bool {
      guard let socket = sockets[End(port: port, isIPv6: address.contains(":"))] else {
        return false
      }
      var state = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      return poll(&state, 1, 0) != 0
    }

    private static func end(of socket: curl_socket_t) -> End? {
      var address = sockaddr_in6()
      var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      let isKnown = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          getsockname(socket, $0, &length) == 0
        }
      }
      // The port is at the same place in `sockaddr_in` (sockaddr_in6(3type)).
      return isKnown
        ? End(
          port: Int(UInt16(bigEndian: address.sin6_port)),
          isIPv6: address.sin6_family == sa_family_t(AF_INET6)) : nil
    }
  }
#endif
