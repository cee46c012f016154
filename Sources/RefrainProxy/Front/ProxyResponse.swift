// SPDX-License-Identifier: MIT
public import Foundation
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

  /// Creates a response whose body is written by a closure, as in `Body.stream`.
  public init(
    status: Int = 200, fields: HeaderFields = [:],
    stream: @escaping @Sendable (ProxyBodyWriter) async throws -> Void
  ) {
    (self.status, self.fields, self.body) = (status, fields, .stream(stream))
  }
}

/// Writes the body of a response as it arises (`ProxyResponse.Body.stream`).
public struct ProxyBodyWriter: Sendable {
  /// Returns once the socket has accepted the bytes.
  let accept: @Sendable (Data) async throws -> Void
  let isRead: @Sendable () async -> Bool

  /// Writes a part of the body, and returns once the socket has accepted it: a client that does not
  /// read costs no memory.
  ///
  /// - Throws: an error that ends the request, if the client has left. Let it pass.
  public func write(_ bytes: Data) async throws {
    if !bytes.isEmpty { try await accept(bytes) }
  }

  /// Whether the client still reads. False once it has closed its side of the connection, or the proxy
  /// stops: a body without an end of its own then ends.
  public var isWanted: Bool {
    get async { await isRead() }
  }
}

extension ProxyResponse {
  /// Creates a response of the proxy's own, which nobody keeps.
  package init(status: Int = 200, type: String, _ body: some Sequence<UInt8>) {
    self.init(
      status: status,
      fields: [
        "Date": HTTPDate.format(Date()), "Content-Type": type, "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
      ], body: Data(body))
  }

  /// Creates the response that tells people of an error, in one sentence.
  package init(_ error: HTTPError) {
    self.init(status: error.status, type: "text/plain; charset=utf-8", "\(error.reason)\n".utf8)
    if let seconds = error.retryAfter ?? (error.status == 503 ? 1 : nil) {
      fields.append("Retry-After", String(seconds))
    }
  }
}
