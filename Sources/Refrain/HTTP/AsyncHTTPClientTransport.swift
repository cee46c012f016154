// SPDX-License-Identifier: MIT
#if os(Linux)
  import AsyncHTTPClient
  import Foundation
  import NIOCore
  import NIOHTTP1

  /// Requests over AsyncHTTPClient: the transport on Linux.
  ///
  /// The body has real back-pressure: beyond one read of the socket nothing is buffered while
  /// nobody asks. How long a silence may be is watched above this; here only connecting has a
  /// limit, 10 s. `OriginRequest.access` and `waitsForConnectivity` have no effect: Linux tells no
  /// program which networks are expensive, nor whether there is one.
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
      configuration.http1_1ConnectionDebugInitializer = { channel in
        ICYStatusLine.install(in: channel).flatMap { BrokenBody.install(in: channel) }
      }
      return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    public func send(_ request: OriginRequest) async throws -> OriginResponse {
      try request.check()
      try Self.checkPath(request.url)
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
        let error = errors.translate(error, beforeHead: true)
        guard let error = error as? TransportError, error.isForLackOfAddress else { throw error }
        let host = errors.host
        let lookup = await IOThreads.shared.run { HostLookup(host: host) }
        throw lookup.refined(error, host: host)
      }
    }

    /// Better no bytes than those of another resource.
    private static func checkPath(_ url: URL) throws(TransportError) {
      guard SentTarget.isAsSpelled(url) else {
        throw TransportError(
          .badURL, "The path of the URL at \(url.host() ?? "") is not UTF-8.")
      }
    }
  }
#endif
