// SPDX-License-Identifier: MIT
#if canImport(FoundationNetworking)
  public import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Handles an authentication challenge of a server or an intermediary: a client certificate, trust
/// in a certificate, a proxy's password. As
/// `URLSessionTaskDelegate.urlSession(_:task:didReceive:)`.
public typealias AuthenticationChallengeHandler =
  @Sendable (URLAuthenticationChallenge) async -> (
    URLSession.AuthChallengeDisposition, URLCredential?
  )

#if !canImport(FoundationNetworking)
  /// Sends requests over URLSession: the default transport on Apple platforms, where the system
  /// selects the network, respects its cost, and uses VPNs and proxies.
  ///
  /// The body is streamed with back-pressure: once 256 KiB are unread, the task is suspended. As
  /// URLSession may go on delivering, the request ends once more than 2 MiB are unread, if the
  /// response is a part (206) with a strong validator: the body fails with
  /// `TransportError.Code.connectionLost` after those bytes, and the cache requests the rest when
  /// somebody reads on. Bytes that were still under way are then sent twice. Any other response,
  /// which could not be continued, is kept in memory as it arrives. A suspended task that times out
  /// ends likewise, and counts as no failure of the host.
  ///
  /// Nothing is cached, no cookie is stored or sent, no redirect is followed. URLSession adds
  /// `Accept`, `Accept-Language` and `Connection` if a request has none. Fields of one name are
  /// sent, and returned, as one, joined by commas (RFC 9110 §5.3).
  ///
  /// URLSession decodes a body with a Content-Encoding whatever the request, and the original is
  /// not available. As decoded bytes would not be the bytes of the range, such a response (200,
  /// 206) fails with `TransportError.Code.malformed`. Only a whole document (200) is passed on
  /// decoded. If it is sent neither in chunks nor with a Content-Length, it may end too early
  /// without an error.
  ///
  /// A 401 that offers Digest authentication is answered with the user and password of the request's
  /// Basic credentials, unless there is a `challengeHandler`.
  ///
  /// `MediaCache.Configuration` limits silence; the limit here is five minutes.
  ///
  /// The body of a relayed request is written to a file first; an encoded response is passed on
  /// decoded.
  ///
  /// Not available on Linux, where URLSession ends the process on some invalid responses.
  public struct URLSessionTransport: RelayingTransport {
    private let requests: URLSessionRequests

    /// - Parameters:
    ///   - challengeHandler: called, on no particular thread, when a connection or a server
    ///     requires authentication. Nil: the system decides on the trust in servers, and a 401 or
    ///     407 is the response; after a 401, `MediaCache.Configuration.authorize` is called.
    ///   - onMetrics: called for each request that has ended, in order, on the session's queue,
    ///     which it must not block.
    public init(
      challengeHandler: AuthenticationChallengeHandler? = nil,
      onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)? = nil
    ) {
      requests = URLSessionRequests(challengeHandler: challengeHandler, onMetrics: onMetrics)
    }

    public func send(_ request: OriginRequest) async throws -> OriginResponse {
      try await requests.send(request)
    }

    package func relay(_ request: RelayedRequest) async throws -> OriginResponse {
      try await requests.relay(request)
    }
  }
#endif
