// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

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
