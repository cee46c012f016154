// SPDX-License-Identifier: MIT
#if canImport(AsyncHTTPClient)
  import AsyncHTTPClient
  import Foundation
  import NIOCore
  import NIOHTTP1

  /// Requests over AsyncHTTPClient: the transport on Linux.
  ///
  /// The body has real back-pressure: beyond one read of the socket nothing is buffered while
  /// nobody asks. How long a silence may be is watched above this; here only connecting has a
  /// limit, 10 s.
  public struct AsyncHTTPClientTransport: Transport {
    public init() {}

    /// One client for the whole process, never shut down. A client that is let go without having
    /// been shut down traps, and shutting down is asynchronous, which no `deinit` is. A shared one
    /// also lets every cache in the process use the same idle connections.
    private static let client: HTTPClient = {
      var configuration = HTTPClient.Configuration()
      // Redirects are followed above, where credentials are dropped and loops are found.
      configuration.redirectConfiguration = .disallow
      configuration.decompression = .disabled
      configuration.timeout = .init(connect: .seconds(10), read: nil)
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
      // A refused connection is an answer. Whether it is tried again is decided above.
      configuration.connectionPool.retryConnectionEstablishment = false
      configuration.httpVersion = .automatic
      return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    public func send(_ request: OriginRequest) async throws -> OriginResponse {
      try Self.check(request)
      let errors = AsyncHTTPClientErrors(host: request.url.host() ?? "")
      // Verbatim: a signed URL is signed as it is spelled.
      var outgoing = HTTPClientRequest(url: request.url.absoluteString)
      outgoing.headers = HTTPHeaders(request.headers.fields.map { ($0.name, $0.value) })
      do {
        try Task.checkCancellation()
        let response = try await Self.client.execute(outgoing, deadline: .distantFuture)
        return OriginResponse(
          status: Int(response.status.code),
          headers: HTTPFields(response.headers.lazy.map { ($0.name, $0.value) }),
          body: AsyncHTTPClientBody(body: response.body, errors: errors))
      } catch {
        throw errors.translate(error, beforeHead: true)
      }
    }

    /// AsyncHTTPClient takes more than can be sent: other schemes, and a header without a name. The
    /// value of a bad header is not repeated, for it may be a password.
    private static func check(_ request: OriginRequest) throws(TransportError) {
      let scheme = request.url.scheme?.lowercased()
      guard scheme == "http" || scheme == "https", request.url.host()?.isEmpty == false else {
        let text = request.url.absoluteString.prefix { $0 != "?" }.prefix(200)
        throw TransportError(.badURL, "\(text) is not an http or https URL with a host.")
      }
      guard request.url.port.map({ (1...65_535).contains($0) }) ?? true else {
        throw TransportError(.badURL, "The URL at \(request.url.host() ?? "") has no valid port.")
      }
      // AsyncHTTPClient asks for "/" where the path cannot be decoded as UTF-8 ("%E4"): the bytes
      // of another resource. Better none than wrong ones.
      guard request.url.path(percentEncoded: true).isEmpty == request.url.path.isEmpty else {
        throw TransportError(
          .badURL, "The path of the URL at \(request.url.host() ?? "") is not UTF-8.")
      }
      for field in request.headers.fields {
        guard field.name.isToken else {
          throw TransportError(
            .badURL, "\(String(reflecting: field.name)) cannot be the name of a header.")
        }
        guard field.value.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
          throw TransportError(
            .badURL, "The value of the header \(field.name) has control characters in it.")
        }
      }
    }
  }
#endif
