// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

/// Writes one response from a task. Each call waits until the socket has accepted its bytes: a slow
/// client costs no memory.
struct ResponseWriter: Sendable {
  let connection: NIOLoopBound<ProxyConnection>
  /// That of the connection's request: late writes must not reach the next response.
  let number: UInt64
  /// Whether stored bytes are sent by sendfile(2).
  let sendsFiles: Bool
  /// The pace of the body; nil: as fast as the client accepts it.
  let pace: ResponsePace?

  func begin(_ head: ResponseHead) async throws {
    try await perform { $0.write(head) }
  }

  /// Writes an interim response (RFC 9110 §15.2), if the final one has not begun yet. Does not wait.
  func interim(_ status: Int, _ fields: HeaderFields) {
    connection.eventLoop.execute {
      if connection.value.isAnswering(number) { connection.value.writeInterim(status, fields) }
    }
  }

  func write(_ bytes: ByteBuffer) async throws {
    var rest = bytes
    while rest.readableBytes > 0,
      let part = rest.readSlice(length: min(rest.readableBytes, pace?.step ?? .max))
    {
      try await perform { $0.write(part) }
      try await pace?.wait(part.readableBytes)
    }
  }

  /// - Parameter accepted: receives each part of the range that the socket has accepted, before this
  ///   returns or throws.
  func write(
    _ file: EntryFile, _ range: ByteRange, accepted: @Sendable @escaping (ByteRange) -> Void
  ) async throws {
    let step = min(pace.map { Int64($0.step) } ?? .max, sendsFiles ? .max : Self.longestCopy)
    var offset = range.lowerBound
    while offset < range.upperBound {
      let part = offset..<(range.upperBound - offset > step ? offset + step : range.upperBound)
      offset = part.upperBound
      if sendsFiles {
        try await perform { $0.write(file, part, accepted) }
      } else {
        let bytes = await IOThreads.shared.run { ByteBuffer(file, part) }
        // Truncated by another program, or unreadable: the client must not take a part for the whole.
        guard bytes.readableBytes == part.count else { throw FileEnded() }
        try await perform { $0.write(bytes) }
        accepted(part)
      }
      try await pace?.wait(part.count)
    }
  }

  /// The most bytes read from a file at a time.
  static let longestCopy: Int64 = 256 << 10

  func end() async throws {
    try await perform { $0.endAnswer() }
  }

  /// Closes the connection in the middle of the response.
  func abort() async { await onConnection { $0.abortAnswer() } }

  var hasBegun: Bool {
    get async { await onConnection { $0.hasWrittenHead } ?? true }
  }

  /// Whether the client may still read what is written: it has not closed its side, as a browser does
  /// that wants no more, and the proxy does not stop.
  var isWanted: Bool {
    get async {
      await onConnection {
        !$0.isInputClosed && !$0.isClosing && !$0.setup.service.phase.isStopping
      }
        ?? false
    }
  }

  /// Returns the next part of the request's body; nil at its end.
  func nextBodyPart() async throws -> ByteBuffer? {
    try await perform { $0.nextBodyPart() }
  }

  /// Returns the whole body of the request.
  ///
  /// - Throws: 413 if it is longer than `limit`.
  func body(limit: Int) async throws -> [UInt8] {
    var body: [UInt8] = []
    while let part = try await nextBodyPart() {
      guard body.count + part.readableBytes <= limit else {
        throw HTTPError(413, "The body is longer than \(limit) bytes.")
      }
      body += part.readableBytesView
    }
    return body
  }

  /// Returns the result of `body`; nil if the connection does not respond to this request any more.
  @discardableResult
  private func onConnection<Value: Sendable>(
    _ body: @Sendable @escaping (ProxyConnection) -> Value
  ) async -> Value? {
    // A closed event loop has no clients.
    try? await perform { [connection] in connection.eventLoop.makeSucceededFuture(body($0)) }
  }

  /// - Throws: `ClientDisconnected`, if the connection does not respond to this request any more.
  private func perform<Value: Sendable>(
    _ work: @Sendable @escaping (ProxyConnection) -> EventLoopFuture<Value>?
  ) async throws -> Value {
    let eventLoop = connection.eventLoop
    return try await eventLoop.flatSubmit {
      let done = connection.value.isAnswering(number) ? work(connection.value) : nil
      return done ?? eventLoop.makeFailedFuture(ClientDisconnected())
    }.get()
  }
}

extension ByteBuffer {
  /// Reads a part of a file; blocks. Contains less if the file ends before.
  init(_ file: EntryFile, _ range: ByteRange) {
    self.init()
    writeWithUnsafeMutableBytes(minimumWritableBytes: range.count) { space in
      let space = UnsafeMutableRawBufferPointer(rebasing: space[..<range.count])
      return file.copy(into: space, at: range.lowerBound) ?? 0
    }
  }
}

/// The error of a cache file that ends before its stored bytes do.
struct FileEnded: Error {}
