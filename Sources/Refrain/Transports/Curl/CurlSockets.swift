// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import CLinuxSystem
  import Foundation

  /// The sockets that one thread waits for, and a bell that ends the wait: epoll(7), eventfd(2).
  final class EventQueue: Sendable {
    private let descriptor: Int32
    private let bell: Int32

    /// - Throws: `TransportError` if there are no descriptors left.
    init() throws {
      descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
      bell = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
      guard descriptor >= 0, bell >= 0 else {
        // `deinit` closes what was opened: all properties are set.
        let reason = String(cString: strerror(errno))
        throw TransportError(.unreachable, "No request can be sent: \(reason).")
      }
      watch(bell, CURL_POLL_IN)
    }

    deinit {
      if descriptor >= 0 { close(descriptor) }
      if bell >= 0 { close(bell) }
    }

    /// Ends the current wait, or the next one. May be called on any thread.
    func ring() {
      var one: UInt64 = 1
      // Fails only after 2^64 rings.
      _ = write(bell, &one, 8)
    }

    /// Watches a socket, or stops watching it.
    ///
    /// - Parameter what: as libcurl says it (CURLMOPT_SOCKETFUNCTION(3)): a set of bits.
    func watch(_ socket: Int32, _ what: Int32) {
      var event = epoll_event()
      if what & CURL_POLL_IN != 0 { event.events |= EPOLLIN.rawValue }
      if what & CURL_POLL_OUT != 0 { event.events |= EPOLLOUT.rawValue }
      event.data.fd = socket
      guard event.events != 0 else {
        epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, &event)
        return
      }
      // A closed socket is no longer watched either, and its number may belong to another by now.
      if epoll_ctl(descriptor, EPOLL_CTL_MOD, socket, &event) != 0, errno == ENOENT {
        epoll_ctl(descriptor, EPOLL_CTL_ADD, socket, &event)
      }
    }

    /// Waits for the next events, or the bell.
    ///
    /// - Parameters:
    ///   - milliseconds: the longest wait; -1: unlimited.
    ///   - act: receives each socket with its flags for curl_multi_socket_action(3).
    func wait(within milliseconds: Int32, _ act: (curl_socket_t, Int32) -> Void) {
      withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
        let count = epoll_wait(
          descriptor, events.baseAddress, Int32(events.count), milliseconds)
        for event in events.prefix(Int(max(count, 0))) {
          guard event.data.fd != bell else {
            var rings: UInt64 = 0
            _ = read(bell, &rings, 8)
            continue
          }
          var flags: Int32 = 0
          if event.events & EPOLLIN.rawValue != 0 { flags |= CURL_CSELECT_IN }
          if event.events & EPOLLOUT.rawValue != 0 { flags |= CURL_CSELECT_OUT }
          if event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 {
            flags |= CURL_CSELECT_ERR
          }
          act(event.data.fd, flags)
        }
      }
    }
  }

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
