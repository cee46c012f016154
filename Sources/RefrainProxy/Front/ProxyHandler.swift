// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

/// Responds to some of a proxy's requests in place of the cache: with a list of the app's own, a cover,
/// a redirect.
///
/// The handlers of `CacheProxy.Configuration.handlers` are asked one after the other; the request that
/// none of them takes goes on to the cache. A request reaches them once its `Host`, and its token if
/// there is one, have been found to be the proxy's. What comes before them: the operator's handlers of
/// RefrainServer, if the proxy has them, and stored, fresh resources requested within the last seconds.
public protocol ProxyHandler: Sendable {
  /// Takes a request, or lets it go on.
  ///
  /// Called in a task of its own for each request, and so for several at once. The task is cancelled
  /// when the client leaves.
  ///
  /// - Returns: the response; nil to let the request go on.
  /// - Throws: `MediaCacheError`, which the client receives with the status of such an error from an
  ///   origin. Any other error becomes a 500 without details, and a warning in `MediaCache.events`.
  func response(to request: ProxyRequest) async throws -> ProxyResponse?
}

/// A client's request, for a `ProxyHandler`.
public struct ProxyRequest: Sendable {
  /// As sent; methods are case-sensitive. CONNECT and TRACE do not come.
  public let method: String
  /// The path and query byte for byte, without the proxy's token: `/lists/new?day=1`. That of a
  /// resource of another server is `/https/example.org/song.flac`, or with a stream's session
  /// `/~ID/https/example.org/song.flac`, unless the proxy has one `origin`.
  public let target: String
  /// The header fields, in order.
  public let fields: HeaderFields
  /// The client's numeric address.
  public let client: String
  private let read: @Sendable (Int) async throws -> [UInt8]

  init(
    _ request: ClientRequest, target: String,
    body: @escaping @Sendable (_ limit: Int) async throws -> [UInt8]
  ) {
    (method, fields) = (request.head.method, request.head.fields)
    (self.target, client, read) = (target, request.client, body)
  }

  /// Returns the whole body of the request. A handler that has called this has to respond.
  ///
  /// - Parameter limit: in bytes.
  /// - Throws: an error with which the client receives 413, if the body is longer than `limit`, and
  ///   one that ends the request if the client leaves. Let both pass.
  public func body(limit: Int) async throws -> Data {
    Data(try await read(limit))
  }
}

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
  /// Whether `CacheProxy.Configuration.log` receives the request, and its figures count.
  public var isLogged = true
  /// The error for the log, in one sentence; nil if there is none.
  public var error: String?
  /// Whether pages of `CacheProxy.Configuration.allowedWebOrigin` may read the response.
  public var isForWebOrigin = true

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

  /// The same for the operator: neither logged nor counted, and unreadable to other web origins.
  package var unlogged: ProxyResponse {
    var response = self
    (response.isLogged, response.isForWebOrigin) = (false, false)
    return response
  }

  package init(_ error: HTTPError) {
    self.init(status: error.status, type: "text/plain; charset=utf-8", "\(error.reason)\n".utf8)
    if let seconds = error.retryAfter ?? (error.status == 503 ? 1 : nil) {
      fields.append("Retry-After", String(seconds))
    }
    fields["Allow"] = error.allow
  }
}

/// The part of a proxy that its operator adds.
package struct FrontHandlers: Sendable {
  /// Asked, in this order and before the app's, for requests whose `Host` and token are the
  /// proxy's. They decide for themselves what a page of another site may send.
  package var handlers: [any ProxyHandler] = []
  /// A path, without a query, that needs no token and has no limits: a balancer asks there. It hides
  /// the origin's resource of that path. The handler receives GET and HEAD, and responds to both.
  package var open: (path: String, handler: any ProxyHandler)?
  /// Nil: clients have no limits.
  package var gate: (any ClientGate)?

  package init() {}

  func isOpen(to head: RequestHead) -> Bool {
    guard let open, head.isGET || head.isHEAD else { return false }
    return head.withTarget { $0.elementsEqual(open.path.utf8) }
  }
}

/// Decides which connections and requests of a client, named by its numeric address, are served,
/// and how fast. Called on event loops: it must not block.
package protocol ClientGate: Sendable {
  /// Returns the error with which a connection is refused; nil if it is counted, until `leave`.
  func enter(_ client: String) -> HTTPError?

  func leave(_ client: String)

  /// Returns the error with which a request is refused; nil if it is counted.
  func admit(_ client: String) -> HTTPError?

  /// The most bytes of a body to send at a time; nil: as many as a client accepts.
  var longestPiece: Int? { get }

  /// Counts bytes that were sent, and waits until more may be.
  func pace(_ client: String, after count: Int) async throws
}
