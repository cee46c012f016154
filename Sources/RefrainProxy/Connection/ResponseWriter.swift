// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

/// Writes one response from a task. Each call waits until the socket has accepted its bytes: a slow
/// client costs no memory.
struct ResponseWriter: Sendable {
  let connection: NIOLoopBound<ProxyConnection>
  let eventLoop: any EventLoop
  /// The number of the connection's request: late writes must not reach the next response.
  let number: UInt64
  /// Whether stored bytes are sent by sendfile(2).
  let sendsFiles: Bool
  /// The pace of the body; nil: as fast as the client accepts it.
  var pace: ResponsePace?

  func begin(_ head: ResponseHead) async throws {
    try await perform { $0.write(head) }
  }

  /// Writes an interim response (RFC 9110 §15.2), if the final one has not begun yet. Does not wait.
  func interim(_ status: Int, _ fields: HeaderFields) {
    eventLoop.execute {
      if connection.value.isAnswering(number) { connection.value.writeInterim(status, fields) }
    }
  }

  func write(_ bytes: ByteBuffer) async throws {
    guard let pace else { return try await perform { $0.write(bytes) } }
    var rest = bytes
    while let part = rest.readSlice(length: min(rest.readableBytes, pace.step)),
      part.readableBytes > 0
    {
      try await perform { $0.write(part) }
      try await pace.wait(part.readableBytes)
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
  func abort() async {
    try? await eventLoop.submit {
      if connection.value.isAnswering(number) { connection.value.abortAnswer() }
    }.get()
  }

  var hasBegun: Bool {
    get async {
      (try? await eventLoop.submit {
        !connection.value.isAnswering(number) || connection.value.hasWrittenHead
      }.get()) ?? true
    }
  }

  /// Returns the next part of the request's body; nil at its end.
  func nextBodyPart() async throws -> ByteBuffer? {
    try await eventLoop.flatSubmit { () -> EventLoopFuture<ByteBuffer?> in
      let part = connection.value.isAnswering(number) ? connection.value.nextBodyPart() : nil
      return part ?? eventLoop.makeFailedFuture(ClientDisconnected())
    }.get()
  }

  private func perform(
    _ work: @Sendable @escaping (ProxyConnection) -> EventLoopFuture<Void>?
  ) async throws {
    try await eventLoop.flatSubmit { () -> EventLoopFuture<Void> in
      let done = connection.value.isAnswering(number) ? work(connection.value) : nil
      return done ?? eventLoop.makeFailedFuture(ClientDisconnected())
    }.get()
  }
}

/// Whole responses: those of handlers, and the proxy's own.
extension ResponseWriter {
  /// Sends the response of a handler.
  ///
  /// - Parameters:
  ///   - fields: those that are sent; nil: those of the response.
  ///   - sent: receives the number of bytes of each part that the socket has accepted.
  func send(
    _ response: ProxyResponse, _ fields: HeaderFields? = nil, to request: RequestHead,
    sent: @escaping @Sendable (Int64) -> Void = { _ in }
  ) async throws {
    var head = ResponseHead(
      status: response.status, fields: fields ?? response.fields, body: .none)
    head.isMeasured = response.isCounted
    let hasBody = response.status != 204 && response.status != 304
    switch response.body {
    case .data(let data):
      let length = Int64(data.count)
      if hasBody { head.body = request.isHEAD ? .omitted(length) : .length(length) }
      try await begin(head)
      if case .length(1...) = head.body {
        try await write(ByteBuffer(bytes: data))
        sent(length)
      }
    case .stream(let write):
      if hasBody { head.body = request.isHEAD ? .omitted(nil) : .open }
      try await begin(head)
      if head.body == .open {
        try await write(
          ProxyBodyWriter { bytes in
            try await self.write(ByteBuffer(bytes: bytes))
            sent(Int64(bytes.count))
          } isRead: {
            await isWanted
          })
      }
    }
    try await end()
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

  /// Whether the client may still read what is written: it has not closed its side, as a browser does
  /// that wants no more, and the proxy does not stop.
  private var isWanted: Bool {
    get async {
      // A closed event loop has no clients.
      (try? await eventLoop.submit {
        let connection = connection.value
        return connection.isAnswering(number) && !connection.isInputClosed
          && !connection.isClosing && !connection.setup.phase.isStopping
      }.get()) ?? false
    }
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
