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
  /// Anything that arrives there belongs to no response: the rest of one that was longer than its
  /// Content-Length, an error, or the end of the connection (RFC 9112 §9.5). A later request would
  /// take it for its response.
  final class IdleConnections {
    private var sockets: Set<curl_socket_t> = []

    func add(_ socket: curl_socket_t) {
      if socket != CURL_SOCKET_BAD { sockets.insert(socket) }
    }

    /// Called when libcurl uses the socket again, or before it is closed.
    func remove(_ socket: curl_socket_t) { sockets.remove(socket) }

    /// Ends the connections on which something has arrived: libcurl then makes new ones.
    func endUnusable() {
      guard !sockets.isEmpty else { return }
      var states = sockets.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&states, nfds_t(states.count), 0) > 0 else { return }
      for state in states where state.revents != 0 {
        sockets.remove(state.fd)
        shutdown(state.fd, Int32(SHUT_RDWR))
        // libcurl looks for the end, which comes after the bytes.
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        while recv(state.fd, &bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
      }
    }
  }
#endif
