// SPDX-License-Identifier: MIT
public import Foundation
import NIOCore
public import Refrain
import RefrainLocks

/// Responds to some of a proxy's requests in place of the cache: with a list of the app's own, a cover,
/// a redirect.
///
/// The handlers of `CacheProxy.Configuration.handlers` are asked one after the other; the request that
/// none of them takes goes on to the cache. A request reaches them once its `Host`, and its token if
/// there is one, have been found to be the proxy's. What the proxy serves itself comes before them:
/// its page, the operator's paths, and stored, fresh resources requested within the last seconds.
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
  private let writer: ResponseWriter
  private let bodyUse = BodyUse()

  /// Whether the body was read, which nobody else can read again.
  private final class BodyUse: Sendable {
    let hasBegun = Atomic(false)
  }

  init(_ request: ClientRequest, target: String, writer: ResponseWriter) {
    (method, fields) = (request.head.method, request.head.fields)
    (self.target, client, self.writer) = (target, request.client, writer)
  }

  /// Returns the whole body of the request. A handler that has called this has to respond.
  ///
  /// - Parameter limit: in bytes.
  /// - Throws: an error with which the client receives 413, if the body is longer than `limit`, and
  ///   one that ends the request if the client leaves. Let both pass.
  public func body(limit: Int) async throws -> Data {
    bodyUse.hasBegun.store(true, ordering: .relaxed)
    return Data(try await writer.body(limit: limit))
  }

  var hasReadBody: Bool { bodyUse.hasBegun.load(ordering: .relaxed) }
}

/// The response of a `ProxyHandler`.
public struct ProxyResponse: Sendable {
  /// 200 to 599.
  public var status: Int
  /// Without those of the message, which the proxy sets: Content-Length, Connection. A field that is
  /// not valid (RFC 9110 §5.5) is not sent.
  public var fields: HeaderFields
  /// Not sent to HEAD, whose `Content-Length` is this body's.
  public var body: Data

  public init(status: Int = 200, fields: HeaderFields = [:], body: Data = Data()) {
    (self.status, self.fields, self.body) = (status, fields, body)
  }
}

extension Responder {
  /// Has the app's handlers respond.
  ///
  /// - Parameter target: without the token.
  /// - Returns: whether one of them has.
  func answerByHandler(_ target: String) async throws -> Bool {
    let head = request.head
    guard !service.configuration.handlers.isEmpty, target.hasPrefix("/"), head.method != "TRACE",
      head.method != "CONNECT"
    else { return false }
    let asked = ProxyRequest(request, target: target, writer: writer)
    // Those that may change something. A page of another site can have the browser send them.
    guard
      ["GET", "HEAD", "OPTIONS"].contains(head.method)
        || !service.requestPolicy.isFromAnotherSite(head.fields, host: head.fields["Host"])
    else {
      throw HTTPError(
        403, "A page of another site may not send a \(head.method) through this proxy.")
    }
    for handler in service.configuration.handlers {
      guard let response = try await response(of: handler, to: asked) else {
        guard !asked.hasReadBody else {
          throw failure(of: handler, at: target, "has read the body, and does not respond")
        }
        continue
      }
      try await send(response)
      return true
    }
    return false
  }

  private func response(
    of handler: any ProxyHandler, to asked: ProxyRequest
  ) async throws -> ProxyResponse? {
    do {
      return try await handler.response(to: asked)
    } catch let error as HTTPError {
      throw error
    } catch let error as MediaCacheError {
      throw error
    } catch let error as ClientDisconnected {
      throw error
    } catch {
      if Task.isCancelled { throw CancellationError() }
      throw failure(of: handler, at: asked.target, "failed: \(error)")
    }
  }

  private func failure(of handler: any ProxyHandler, at target: String, _ what: String) -> HTTPError
  {
    service.cache.report(warning: "The handler \(type(of: handler)), asked for \(target), \(what).")
    return HTTPError(500, "This proxy could not make the response.")
  }

  private func send(_ response: ProxyResponse) async throws {
    guard (200...599).contains(response.status) else {
      throw HTTPError(500, "This proxy made a response with the status \(response.status).")
    }
    let length = Int64(response.body.count)
    let hasBody = response.status != 204 && response.status != 304
    let body: ResponseHead.Body =
      !hasBody ? .none : request.head.isHEAD ? .omitted(length) : .length(length)
    report.note { $0.status = response.status }
    try await writer.begin(
      ResponseHead(status: response.status, fields: service.fields.own(response.fields), body: body)
    )
    if case .length(1...) = body {
      try await writer.write(ByteBuffer(bytes: response.body))
      report.note { $0.bytesSent = length }
      service.traffic.noteSent(length)
    }
    try await writer.end()
  }
}
