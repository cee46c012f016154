// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Connections to hosts with a long connect time, opened while a long response arrives: a reader
  /// that seeks uses another connection, without waiting for a TCP handshake. Used on the thread of
  /// libcurl alone.
  final class SpareConnections {
    /// The address of a socket (socket(2), connect(2)).
    struct Address: Hashable {
      var family: Int32
      var type: Int32
      var transport: Int32
      /// As a `sockaddr`.
      var bytes: [UInt8]

      init?(_ address: UnsafePointer<curl_sockaddr>?) {
        guard let address else { return nil }
        family = address.pointee.family
        type = address.pointee.socktype
        transport = address.pointee.protocol
        bytes = Array(
          UnsafeRawBufferPointer(
            start: refrain_curl_address(address), count: Int(address.pointee.addrlen)))
      }

      /// Whether the address is in a private network (sockaddr_in(3type), sockaddr_in6(3type)).
      var isPrivate: Bool {
        switch (family, bytes.count) {
        case (AF_INET, 8...): PrivateNetwork.contains(address: Array(bytes[4..<8]))
        case (AF_INET6, 24...): PrivateNetwork.contains(address: Array(bytes[8..<24]))
        default: true
        }
      }

      /// - Returns: `CURL_SOCKET_BAD` if there are no descriptors left.
      func openSocket() -> curl_socket_t {
        // Child processes do not inherit it.
        socket(family, type | Int32(SOCK_CLOEXEC.rawValue), transport)
      }
    }

    private struct Spare {
      var address: Address
      var socket: curl_socket_t
      var until: ContinuousClock.Instant
    }

    private var spares: [Spare] = []

    /// The connect time that justifies a spare connection, in microseconds.
    private let slow: Int
    /// See `DescriptorBudget`.
    private static let most = 4
    /// Hosts close connections without a request, many of them after a minute.
    private static let lifetime: Duration = .seconds(20)

    init(slow: Int) { self.slow = slow }

    deinit {
      for spare in spares { close(spare.socket) }
    }

    /// Opens a spare connection after one was made, or taken from here.
    ///
    /// - Parameter time: the connect time, in microseconds; nil: the connection was taken from
    ///   here.
    func connected(to address: Address, after time: Int?) {
      if let time, time < slow { return }
      guard spares.count < Self.most, !spares.contains(where: { $0.address == address }) else {
        return
      }
      let socket = address.openSocket()
      guard socket != CURL_SOCKET_BAD else { return }
      let flags = fcntl(socket, F_GETFL)
      let isStarted = address.bytes.withUnsafeBytes { bytes in
        guard fcntl(socket, F_SETFL, flags | O_NONBLOCK) == 0,
          let base = bytes.bindMemory(to: sockaddr.self).baseAddress
        else { return false }
        return connect(socket, base, socklen_t(bytes.count)) == 0 || errno == EINPROGRESS
      }
      guard isStarted else {
        close(socket)
        return
      }
      spares.append(Spare(address: address, socket: socket, until: .now + Self.lifetime))
    }

    /// Returns a connection, or one being made; nil if there is none.
    func take(for address: Address) -> curl_socket_t? {
      while let index = spares.firstIndex(where: { $0.address == address }) {
        let spare = spares.remove(at: index)
        var state = pollfd(fd: spare.socket, events: Int16(POLLIN), revents: 0)
        // Anything that arrives before a request is the end, or an error.
        if poll(&state, 1, 0) == 0 { return spare.socket }
        close(spare.socket)
      }
      return nil
    }

    /// When the oldest connection expires; nil while there is none.
    var deadline: ContinuousClock.Instant? { spares.first?.until }

    func closeOld(at now: ContinuousClock.Instant) {
      while let first = spares.first, first.until <= now {
        close(first.socket)
        spares.removeFirst()
      }
    }
  }
#endif
