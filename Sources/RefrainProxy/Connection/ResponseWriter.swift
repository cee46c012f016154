// SPDX-License-Identifier: MIT
import NIOCore
import Refrain

/// Writes one response from a task. Each call waits until the socket has accepted its bytes: a slow
/// client costs no memory.
struct ResponseWriter: Sendable {
  let connection: NIOLoopBound<ProxyConnection>
  let eventLoop: any EventLoop
  /// The number of the connection's request: late writes must not reach the next response.
  let number: UInt64
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
  ///   returns or throws; on the event loop.
  func write(
    _ file: EntryFile, _ range: ByteRange, accepted: @Sendable @escaping (ByteRange) -> Void
  ) async throws {
    guard let pace else { return try await perform { $0.write(file, range, accepted) } }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let part = offset..<min(range.upperBound, offset + Int64(pace.step))
      try await perform { $0.write(file, part, accepted) }
      try await pace.wait(Int(part.upperBound - part.lowerBound))
      offset = part.upperBound
    }
  }

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
