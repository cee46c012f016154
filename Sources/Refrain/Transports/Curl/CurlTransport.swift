// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// Sends requests over the system's libcurl: the default transport on Linux.
  ///
  /// Uses HTTP/1.1, with the distribution's TLS, directly or through the proxies that the
  /// environment names. The body has back-pressure: once 128 KiB are unread (64 initially, less with
  /// many requests), nothing more is read from the connection. Only connecting has a time limit
  /// here, 10 s; `MediaCache.Configuration` limits silence. `OriginRequest.access` and
  /// `waitsForConnectivity` have no effect: Linux does not report which networks are expensive, nor
  /// whether there is one.
  ///
  /// Basic credentials (RFC 7617) are sent as they are until the origin offers Digest (RFC 7616);
  /// from then on libcurl sends Digest, also with the passwords of `Settings.credentialsFile`.
  ///
  /// All transports of a process with the same settings share their connections, and a thread.
  public struct CurlTransport: RelayingTransport {
    private let settings: Settings

    public init(_ settings: Settings = Settings()) {
      self.settings = settings
    }

    /// Starts the thread that sends requests, unless it runs. Without room for it, the first request
    /// fails.
    func startThread() { _ = try? CurlLoop.with(settings) }

    public func send(_ request: OriginRequest) async throws -> OriginResponse {
      try request.check()
      return try await exchange(CurlRequest(request))
    }

    package func relay(_ request: RelayedRequest) async throws -> OriginResponse {
      try OriginRequest(url: request.url, headers: request.headers).check()
      return try await exchange(CurlRequest(request))
    }

    private func exchange(_ request: CurlRequest) async throws -> OriginResponse {
      let exchange = try CurlExchange(request, on: CurlLoop.with(settings))
      let body = TransportBody(exchange)
      do {
        let head = try await exchange.send()
        var response = OriginResponse(status: head.status, headers: head.headers, body: body)
        response.hasMore = { [weak exchange] in exchange?.isEmpty == false }
        return response
      } catch let error as TransportError where error.isForLackOfAddress {
        let host = request.url.host() ?? ""
        let lookup = await IOThreads.shared.run { HostLookup(host: host) }
        throw lookup.refined(error, host: host)
      }
    }
  }
#endif
