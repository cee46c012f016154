// SPDX-License-Identifier: MIT
import Foundation

/// A plain HTTP/1.1 connection to a server on this machine that reads only as much as requested.
final class HTTPConnection {
  private var descriptor: Int32
  private let port: Int

  /// - Parameter receiveBuffer: the kernel's buffer in bytes; nil: the kernel's default.
  init(port: Int, receiveBuffer: Int32? = nil) throws {
    self.port = port
    descriptor = try Port.connect(port, receiveBuffer: receiveBuffer)
  }

  deinit { close() }

  func close() {
    guard descriptor >= 0 else { return }
    Foundation.close(descriptor)
    descriptor = -1
  }

  /// Requests a path, or a range of it, both ends included.
  func send(_ path: String, range: String? = nil) throws {
    let request =
      "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
      + (range.map { "Range: bytes=\($0)\r\n" } ?? "") + "\r\n"
    let bytes = Array(request.utf8)
    guard Foundation.send(descriptor, bytes, bytes.count, Sockets.noSignal) == bytes.count else {
      throw Failure("port \(port) takes no request")
    }
  }

  /// Reads and drops `count` bytes of the head and the body.
  func read(_ count: Int) throws {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    var left = count
    while left > 0 {
      let got = recv(descriptor, &buffer, min(left, buffer.count), 0)
      guard got > 0 else { throw Failure("port \(port) closes before \(left) bytes more") }
      left -= got
    }
  }

  /// Reads and drops the available bytes, at most `count`.
  ///
  /// - Returns: their number, or nil if the server has closed the connection.
  func readAvailable(_ buffer: inout [UInt8], _ count: Int) -> Int? {
    let got = recv(descriptor, &buffer, min(count, buffer.count), Int32(MSG_DONTWAIT))
    if got < 0, errno == EAGAIN || errno == EINTR { return 0 }
    return got > 0 ? got : nil
  }

  /// Sends a request, and reads the whole response.
  ///
  /// - Returns: seconds from the request to the first byte.
  func firstByte(of path: String, range: String) throws -> Double {
    let start = Monotonic.now
    try send(path, range: range)
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    var head: [UInt8] = []
    var seconds: Double?
    while true {
      let got = recv(descriptor, &buffer, buffer.count, 0)
      guard got > 0 else { throw Failure("port \(port) closes without an answer") }
      if seconds == nil { seconds = Monotonic.now - start }
      head += buffer[..<got]
      if let length = try Self.length(ofAnswer: head) {
        try read(length - head.count)
        return seconds ?? .nan
      }
    }
  }

  /// Sends a request for a whole resource, and reads the response.
  ///
  /// - Returns: seconds from the request to the last byte, and the length of head and body.
  func whole(of path: String) throws -> (seconds: Double, length: Int) {
    let start = Monotonic.now
    try send(path)
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    var head: [UInt8] = []
    while true {
      let got = recv(descriptor, &buffer, buffer.count, 0)
      guard got > 0 else { throw Failure("port \(port) closes without an answer") }
      head += buffer[..<got]
      if let length = try Self.length(ofAnswer: head, status: 200) {
        try read(length - head.count)
        return (Monotonic.now - start, length)
      }
    }
  }

  /// Returns the length of head and body together, or nil while the head is incomplete.
  private static func length(ofAnswer bytes: [UInt8], status: Int = 206) throws -> Int? {
    guard let end = bytes.indices.dropLast(3).first(where: { bytes[$0...].starts(with: blank) })
    else { return nil }
    let head = String(decoding: bytes[..<end], as: UTF8.self).lowercased()
    let lines = head.split(separator: "\r\n")
    let field = lines.first { $0.hasPrefix("content-length:") }?.split(separator: ":").last
    guard lines.first?.contains(" \(status)") == true,
      let length = field.flatMap({ Int($0.trimmingCharacters(in: .whitespaces)) })
    else { throw Failure("an answer of \(lines.first ?? "nothing")") }
    return end + blank.count + length
  }

  private static let blank: [UInt8] = Array("\r\n\r\n".utf8)
}
