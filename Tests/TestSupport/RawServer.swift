// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A loopback server that sends exactly the bytes of a script, HTTP or not: for responses that no
/// well-behaved server sends. A thread per connection; blocking calls.
package final class RawServer: Sendable {
  /// One accepted connection.
  package final class Connection: Sendable {
    private let descriptor: Int32
    private let sentBytes = Atomic<Int>(0)
    private let requests = Atomic<Int>(0)
    private let end = Mutex<Bool>(false)
    private let isOpen = Mutex(true)

    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// The number of bytes that the kernel accepted.
    package var sent: Int { sentBytes.load(ordering: .relaxed) }
    /// The number of requests that `readRequest` has read.
    package var requestCount: Int { requests.load(ordering: .relaxed) }
    /// Whether the client closed the connection.
    package var isClosedByClient: Bool { end.withLock { $0 } }

    /// Reads everything up to the empty line.
    package func readRequest() -> String {
      var received: [UInt8] = []
      var byte: UInt8 = 0
      while received.count < 1 << 20, recv(descriptor, &byte, 1, 0) == 1 {
        received.append(byte)
        if endsWithEmptyLine(received) { break }
      }
      requests.add(1, ordering: .relaxed)
      return String(decoding: received, as: UTF8.self)
    }

    /// Reads exactly `count` bytes; returns nil if the client ends before.
    package func read(_ count: Int) -> [UInt8]? {
      var bytes = [UInt8](repeating: 0, count: count)
      var from = 0
      while from < count {
        let got = bytes[from...].withUnsafeMutableBytes {
          recv(descriptor, $0.baseAddress, $0.count, 0)
        }
        guard got > 0 else {
          end.withLock { $0 = true }
          return nil
        }
        from += got
      }
      return bytes
    }

    /// Reads up to the next CR LF, and returns the line without it; nil if the client ends before.
    package func readLine() -> String? {
      var line: [UInt8] = []
      while let byte = read(1)?.first {
        line.append(byte)
        if line.suffix(2) == [13, 10] {
          return String(decoding: line.dropLast(2), as: UTF8.self)
        }
      }
      return nil
    }

    /// Waits until the client closes.
    package func waitForEnd() {
      var bytes = [UInt8](repeating: 0, count: 1024)
      while recv(descriptor, &bytes, bytes.count, 0) > 0 {}
      end.withLock { $0 = true }
    }

    /// - Returns: true if everything was sent; false once the client has closed the connection.
    @discardableResult
    package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
      var from = 0
      while from < bytes.count {
        let count = bytes[from...].withUnsafeBytes {
          sendBytes(descriptor, $0)
        }
        guard count > 0 else {
          end.withLock { $0 = true }
          return false
        }
        from += count
        sentBytes.add(count, ordering: .relaxed)
      }
      return true
    }

    /// Makes the close a reset: RST instead of FIN.
    package func resetOnClose() {
      var option = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Ends sending: the client sees the end of the connection after the bytes sent.
    package func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    package func close() {
      isOpen.withLock { isOpen in
        if isOpen { closeDescriptor(descriptor) }
        isOpen = false
      }
    }

    /// Ends the connection in both directions; its script sees the end of the client's bytes.
    fileprivate func cut() {
      isOpen.withLock { isOpen in
        if isOpen { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
      }
    }
  }

  package let port: UInt16
  private let listener: Int32
  private let accepted = Mutex<[Connection]>([])

  package var connections: [Connection] { accepted.withLock { $0 } }

  /// - Parameter script: handles each connection, which is closed when the script returns.
  package init(_ script: @escaping @Sendable (Connection) -> Void) throws {
    (listener, port) = try Self.listen()
    Thread.detachNewThread { [self] in serve(script) }
  }

  private func serve(_ script: @escaping @Sendable (Connection) -> Void) {
    while true {
      let descriptor = accept(listener, nil, nil)
      guard descriptor >= 0 else {
        #if !canImport(Darwin)
          closeDescriptor(listener)
        #endif
        return
      }
      #if canImport(Darwin)
        // Replaces MSG_NOSIGNAL.
        var yes: Int32 = 1
        setsockopt(
          descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size))
      #endif
      let connection = Connection(descriptor: descriptor)
      accepted.withLock { $0.append(connection) }
      Thread.detachNewThread {
        script(connection)
        connection.close()
      }
    }
  }

  package func url(_ path: String = "/") throws -> URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else {
      throw POSIXError(.EINVAL)
    }
    return url
  }

  package func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    // Elsewhere the accepting thread closes the socket: if it were closed here, its number might be
    // another server's when that thread accepts again.
    #if canImport(Darwin)
      closeDescriptor(listener)
    #endif
    // A client may keep them for its next request, which may be to another server on this port.
    for connection in connections { connection.cut() }
  }

  /// Returns a port on which nothing ever listens: it stays bound while the process lives.
  package static func deafPort() throws -> UInt16 { try listen(backlog: nil).1 }

  private static func listen(backlog: Int32? = 128) throws -> (Int32, UInt16) {
    #if canImport(Darwin)
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #else
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0
          && (backlog.map { startListening(descriptor, $0) } ?? 0) == 0
          && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard descriptor >= 0, isBound else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }
}

// Outside of the classes, whose methods have the same names.

private func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

private func startListening(_ descriptor: Int32, _ backlog: Int32) -> Int32 {
  listen(descriptor, backlog)
}

private func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  #if canImport(Darwin)
    let flags: Int32 = 0
  #else
    let flags = Int32(MSG_NOSIGNAL)
  #endif
  return send(descriptor, bytes.baseAddress, bytes.count, flags)
}
