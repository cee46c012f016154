// SPDX-License-Identifier: MIT
#if canImport(FoundationNetworking)
  import Foundation
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
      requests = URLSessionRequests(
        .init(challengeHandler: challengeHandler, onMetrics: onMetrics))
    }

    public func send(_ request: OriginRequest) async throws -> OriginResponse {
      try await requests.send(request)
    }

    package func relay(_ request: RelayedRequest) async throws -> OriginResponse {
      try await requests.relay(request)
    }
  }
#endif

/// Sends requests over URLSession, for `URLSessionTransport`.
///
/// Compiled on Linux for the tests alone: there the task is not suspended, so that a body that
/// arrives faster than it is read is held in memory; dot segments are removed from a URL's path;
/// the body of a redirect is missing; and URLSession ends the process on some redirects ("Fatal
/// error: Invalid URL") and on a connection that breaks within a head ("Transfer completed, but
/// there's no response").
struct URLSessionRequests: RelayingTransport {
  struct Settings: Sendable {
    /// The most unread bytes of a response whose rest can be requested later.
    var mostUnread = URLSessionExchange.mostUnread
    var challengeHandler: AuthenticationChallengeHandler?
    #if !canImport(FoundationNetworking)
      var onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)?
    #endif
  }

  private let sessions = URLSessions()
  private let settings: Settings

  #if canImport(FoundationNetworking)
    /// - Parameter mostUnread: none by default, since without suspending the task any reader that is
    ///   slower than its origin would reach it.
    init(mostUnread: Int = .max) { settings = Settings(mostUnread: mostUnread) }
  #else
    init(_ settings: Settings = Settings()) { self.settings = settings }
  #endif

  func send(_ request: OriginRequest) async throws -> OriginResponse {
    try request.check()
    if request.waitsForConnectivity, request.access != NetworkPolicy.Access() {
      // A waiting session does not report why there is no network. So the first request does not
      // wait, to detect a network that may not be used.
      var prompt = request
      prompt.waitsForConnectivity = false
      do {
        return try await exchange(prompt)
      } catch let error as TransportError where error.cause == .noNetwork {}
    }
    return try await exchange(request)
  }

  func relay(_ request: RelayedRequest) async throws -> OriginResponse {
    let outgoing = OriginRequest(url: request.url, headers: request.headers)
    try outgoing.check()
    // URLSession could also read a stream, but on a thread that waits for it.
    let file: UploadFile? = if let body = request.body { try await UploadFile(body) } else { nil }
    return try await exchange(outgoing, relaying: (request, file))
  }

  private func exchange(
    _ request: OriginRequest, relaying relayed: URLSessionExchange.Relayed? = nil
  ) async throws -> OriginResponse {
    let exchange = URLSessionExchange(
      request: request, relayed: relayed, queue: sessions.queue, settings: settings)
    return try await exchange.send { [sessions] in sessions.task(for: exchange) }
  }
}

/// The body of a relayed request in a temporary file, removed when its last user releases it.
final class UploadFile: Sendable {
  let url: URL

  /// Writes the whole body.
  init(_ body: RelayedRequest.Body) async throws {
    url = FileManager.default.temporaryDirectory.appending(
      path: "refrain-upload-\(UUID().uuidString)")
    let url = url
    let handle = try await IOThreads.shared.run {
      try Data().write(to: url, options: .withoutOverwriting)
      return try FileHandle(forWritingTo: url)
    }
    while let part = try await body.next() {
      try await IOThreads.shared.run { try handle.write(contentsOf: part) }
    }
    try await IOThreads.shared.run { try handle.close() }
  }

  // The system clears the directory of files that cannot be removed here.
  deinit { try? FileManager.default.removeItem(at: url) }
}
