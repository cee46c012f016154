// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// What the system has received for a connection, and is to be read (tcp(7), socket(7)).
  struct ReceiveBuffer {
    let socket: curl_socket_t

    /// Whoever sends is told of no further room: what lies here can be read, and little comes after it.
    func close() {
      var size: Int32 = 0
      setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    /// How many bytes lie here (SIOCINQ).
    var count: Int {
      var count: Int32 = 0
      return ioctl(socket, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }
  }
#endif
