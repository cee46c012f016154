// SPDX-License-Identifier: MIT
import Foundation

/// TCP sockets of the relay. Their buffers are small: the kernel's default would hold megabytes
/// that a client does not read.
enum Sockets {
  #if os(Linux)
    /// Makes a closed connection an error, not a signal that ends the process.
    static let noSignal = Int32(MSG_NOSIGNAL)
    private static let stream = Int32(SOCK_STREAM.rawValue)
  #else
    static let noSignal: Int32 = 0
    private static let stream = SOCK_STREAM
  #endif
  private static let bufferSize: Int32 = 128 << 10

  /// Listens on a free port of the loopback interface.
  static func listen() throws -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, stream, 0)
    prepare(descriptor)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
      }
    }
    guard result == 0, Foundation.listen(descriptor, 1024) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
  }

  /// Waits for a connection; returns a negative number on failure.
  static func accept(_ listener: Int32) -> Int32 {
    let descriptor = Foundation.accept(listener, nil, nil)
    if descriptor >= 0 { prepare(descriptor) }
    return descriptor
  }

  /// - Returns: nil if nothing accepts the connection.
  static func connect(host: String, port: Int) -> Int32? {
    var hints = addrinfo()
    hints.ai_socktype = stream
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, "\(port)", &hints, &found) == 0 else { return nil }
    defer { freeaddrinfo(found) }
    var next = found
    while let address = next?.pointee {
      let descriptor = socket(address.ai_family, stream, 0)
      // Before connecting: the size of the window follows from the buffer (tcp(7)).
      prepare(descriptor)
      if Foundation.connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 {
        return descriptor
      }
      close(descriptor)
      next = address.ai_next
    }
    return nil
  }

  /// Makes close(2) send a reset.
  static func resetOnClose(_ descriptor: Int32) {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  private static func prepare(_ descriptor: Int32) {
    var on: Int32 = 1
    var size = bufferSize
    let length = socklen_t(MemoryLayout<Int32>.size)
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, length)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, length)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, length)
    #if !os(Linux)
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, length)
    #endif
  }
}
