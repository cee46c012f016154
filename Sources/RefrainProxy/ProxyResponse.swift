// SPDX-License-Identifier: MIT
public import Foundation
import NIOCore
public import Refrain

/// The response of a `ProxyHandler`.
public struct ProxyResponse: Sendable {
  public enum Body: Sendable {
    /// The whole body. Not sent to HEAD, whose `Content-Length` is its length.
    case data(Data)
    /// A body whose end is not known yet. The closure writes it, and returns at its end; it is called
    /// once the head is sent, in the task of the request, and not for HEAD. If it throws, the client
    /// learns that the body is incomplete.
    case stream(@Sendable (ProxyBodyWriter) async throws -> Void)
  }

  /// 200 to 599.
  public var status: Int
  /// Without those of the message, which the proxy sets: Content-Length, Connection. A field that is
  /// not valid (RFC 9110 §5.5) is not sent.
  public var fields: HeaderFields
  public var body: Body
  /// Whether `CacheProxy.Configuration.log` receives the request.
  public var isLogged = true
  /// The error for the log, in one sentence; nil if there is none.
  public var error: String?
  /// Whether pages of `CacheProxy.Configuration.allowedWebOrigin` may read the response.
  public var isForWebOrigin = true
  /// Whether the time to it and its bytes are counted.
  package var isCounted = true

  public init(status: Int = 200, fields: HeaderFields = [:], body: Data = Data()) {
    (self.status, self.fields, self.body) = (status, fields, .data(body))
  }

  /// - Parameter stream: writes the body, as in `Body.stream`.
  public init(
    status: Int = 200, fields: HeaderFields = [:],
    stream: @escaping @Sendable (ProxyBodyWriter) async throws -> Void
  ) {
    (self.status, self.fields, self.body) = (status, fields, .stream(stream))
  }
}

/// Writes the body of a response as it arises (`ProxyResponse.Body.stream`).
public struct ProxyBodyWriter: Sendable {
  let writer: ResponseWriter
  /// Receives the number of bytes of each part that the socket has accepted.
  let sent: @Sendable (Int64) -> Void

  /// Writes a part of the body, and returns once the socket has accepted it: a client that does not
  /// read costs no memory.
  ///
  /// - Throws: an error that ends the request, if the client has left. Let it pass.
  public func write(_ bytes: Data) async throws {
    guard !bytes.isEmpty else { return }
    try await writer.write(ByteBuffer(bytes: bytes))
    sent(Int64(bytes.count))
  }

  /// Whether the client still reads. False once it has closed its side of the connection, or the proxy
  /// stops: a body without an end of its own then ends.
  public var isWanted: Bool {
    get async { await writer.isWanted }
  }
}

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
      if head.body == .open { try await write(ProxyBodyWriter(writer: self, sent: sent)) }
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
  fileprivate var isWanted: Bool {
    get async {
      // A closed event loop has no clients.
      (try? await eventLoop.submit {
        let connection = connection.value
        return connection.isAnswering(number) && !connection.isInputClosed
          && !connection.isClosing && !connection.service.phase.isStopping
      }.get()) ?? false
    }
  }
}
