// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation

  /// The sockets that libcurl has open. Used on its thread alone.
  final class CurlSockets {
    private var open: Set<curl_socket_t> = []

    /// - Returns: `CURL_SOCKET_BAD` if there are no descriptors left.
    func add(for address: curl_sockaddr) -> curl_socket_t {
      // Child processes do not inherit it.
      let socket = socket(
        address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
      if socket != CURL_SOCKET_BAD { open.insert(socket) }
      return socket
    }

    func remove(_ socket: curl_socket_t) -> Int32 {
      open.remove(socket)
      return close(socket)
    }

    /// Whether something has arrived on a kept connection over which no request was sent yet. It
    /// belongs to no response: the rest of one that was longer than its Content-Length, an error, or
    /// the end of the connection (RFC 9112 §9.5). The next request would take it for its response.
    ///
    /// - Parameters:
    ///   - address: the local address of the connection, by which libcurl names it.
    ///   - port: the local port.
    func hasInput(at address: String, port: Int) -> Bool {
      let family = sa_family_t(address.contains(":") ? AF_INET6 : AF_INET)
      // Connections to several hosts may have the same local port: an error costs a new connection.
      return open.contains { socket in
        var state = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return Self.isLocalEnd(of: socket, family, port) && poll(&state, 1, 0) != 0
      }
    }

    private static func isLocalEnd(
      of socket: curl_socket_t, _ family: sa_family_t, _ port: Int
    ) -> Bool {
      var address = sockaddr_in6()
      var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      let isKnown = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          getsockname(socket, $0, &length) == 0
        }
      }
      // The port is at the same place in `sockaddr_in` (sockaddr_in6(3type)).
      return isKnown && address.sin6_family == family
        && Int(UInt16(bigEndian: address.sin6_port)) == port
    }
  }
#endif
