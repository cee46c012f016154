// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain
import RefrainLocks

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
  /// Reads the body, of at most so many bytes.
  private let read: @Sendable (Int) async throws -> [UInt8]
  private let bodyUse = BodyUse()

  /// Whether the body was read, which nobody else can read again.
  private final class BodyUse: Sendable {
    let hasBegun = Atomic(false)
  }

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
    bodyUse.hasBegun.store(true, ordering: .relaxed)
    return Data(try await read(limit))
  }

  var hasReadBody: Bool { bodyUse.hasBegun.load(ordering: .relaxed) }
}
