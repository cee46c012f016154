// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// What the system receives before it is asked to, which is lost where nobody wants it after all: at
  /// first it is kept small, and as soon as the answer goes on, it is as large as the system finds good
  /// (tcp(7), socket(7)).
  struct ReceiveBuffer {
    let socket: curl_socket_t

    /// After so many bytes of an answer.
    static let growsAfter = 512 << 10

    private static let small: Int32 = 128 << 10
    /// As in Linux's headers, SOCK_RCVBUF_LOCK.
    private static let locked: Int32 = 2

    /// Once connected: what may be announced at most is decided by then.
    ///
    /// Does nothing where the limit could not be taken back (before Linux 5.14).
    func limit() {
      guard set(SO_BUF_LOCK, Self.locked) else { return }
      set(SO_RCVBUF, Self.small)
    }

    func grow() { set(SO_BUF_LOCK, 0) }

    /// Whoever sends is told of no further room: what lies here can be read, and little comes after it.
    func close() { set(SO_RCVBUF, 0) }

    /// How many bytes lie here (SIOCINQ in tcp(7)).
    var count: Int {
      var count: Int32 = 0
      return ioctl(socket, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    @discardableResult
    private func set(_ option: Int32, _ value: Int32) -> Bool {
      var value = value
      return setsockopt(
        socket, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
    }
  }
#endif
