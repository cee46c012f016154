// SPDX-License-Identifier: MIT
import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A client that handles its connection as no library would: ends one side, resets it, leaves
/// received bytes unread. Its calls block, so it runs on a thread (`onThread`).
package final class PlainSocket {
  package struct TookTooLong: Error {
    package init() {}
  }

  package enum Received: Equatable {
    case bytes([UInt8])
    case end
    case reset
  }

  private let descriptor: CInt
  private var isOpen = true
  private let patience: CInt

  /// - Parameter patience: the time limit of each call, in milliseconds.
  package init(port: Int, receiveBuffer: CInt? = nil, patience: CInt = 20_000) throws {
    #if canImport(Darwin)
      descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #else
      descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    #endif
    self.patience = patience
    if var receiveBuffer {
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<CInt>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else {
      let code = errno
      close()
      throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }
  }

  deinit { close() }

  /// Waits until nothing accepts connections on the port. That may take a while: a program that
  /// another test is starting holds this process's sockets until its exec.
  package static func nobodyListens(port: Int) async throws {
    try await eventually("nobody listens at \(port)") {
      do { _ = try PlainSocket(port: port) } catch is POSIXError { return true }
      return false
    }
  }

  /// - Returns: false if the peer has closed the connection.
  @discardableResult
  package func send(_ bytes: [UInt8]) throws -> Bool {
    var from = 0
    while from < bytes.count {
      try wait(for: POLLOUT)
      #if canImport(Darwin)
        let flags = MSG_DONTWAIT
      #else
        let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
      #endif
      let count = bytes[from...].withUnsafeBytes { sendBytes(descriptor, $0, flags) }
      if count < 0, errno == EAGAIN { continue }
      guard count > 0 else { return false }
      from += count
    }
    return true
  }

  @discardableResult
  package func send(_ text: String) throws -> Bool { try send(Array(text.utf8)) }

  package func receive(upTo count: Int = 65_536) throws -> Received {
    try wait(for: POLLIN)
    var buffer = [UInt8](repeating: 0, count: count)
    let received = recv(descriptor, &buffer, count, 0)
    if received < 0 { return .reset }
    return received == 0 ? .end : .bytes(Array(buffer[..<received]))
  }

  /// Returns fewer bytes if the connection ends.
  package func receive(exactly count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      guard case .bytes(let more) = try receive(upTo: min(65_536, count - bytes.count)) else {
        break
      }
      bytes += more
    }
    return bytes
  }

  /// Returns the head of a response; fewer bytes if the connection ends.
  package func receiveHead() throws -> String {
    var head: [UInt8] = []
    while !endsWithEmptyLine(head) {
      let byte = try receive(exactly: 1)
      if byte.isEmpty { break }
      head += byte
    }
    return String(decoding: head, as: UTF8.self)
  }

  /// - Returns: all received bytes, and whether a reset ended the connection.
  package func receiveToEnd() throws -> (bytes: [UInt8], wasReset: Bool) {
    var bytes: [UInt8] = []
    while true {
      switch try receive() {
      case .bytes(let more): bytes += more
      case .end: return (bytes, false)
      case .reset: return (bytes, true)
      }
    }
  }

  package func isReadable(within milliseconds: CInt) throws -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, milliseconds) > 0
  }

  /// Waits without reading, so that the peer's timers can run.
  package func awaitQuiet(milliseconds: CInt) throws {
    var entry = pollfd(fd: descriptor, events: 0, revents: 0)
    _ = poll(&entry, 1, milliseconds)
  }

  package func endSending() { shutdown(descriptor, CInt(SHUT_WR)) }

  package func close() {
    guard isOpen else { return }
    isOpen = false
    closeDescriptor(descriptor)
  }

  package func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close()
  }

  private func wait(for event: CInt) throws {
    var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    guard poll(&entry, 1, patience) > 0 else { throw TookTooLong() }
  }
}

/// Outside of the class, whose methods have the same names.
private func closeDescriptor(_ descriptor: CInt) { _ = close(descriptor) }

private func sendBytes(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, _ flags: CInt) -> Int {
  send(descriptor, bytes.baseAddress, bytes.count, flags)
}
