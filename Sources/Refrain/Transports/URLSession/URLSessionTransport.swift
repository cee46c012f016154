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
  /// Once 256 KiB of a body are unread, the task is suspended. As URLSession may go on delivering,
  /// the request ends once more than 2 MiB are unread, if the response is a part (206) with a
  /// strong validator: the body fails with `TransportError.Code.connectionLost` after those bytes,
  /// and the cache requests the rest when somebody reads on. Any other response is kept in memory
  /// as it arrives.
  ///
  /// Nothing is cached, no cookie is stored or sent, no redirect is followed. URLSession adds
  /// `Accept`, `Accept-Language` and `Connection` if a request has none. Fields of one name are
  /// sent, and returned, as one, joined by commas (RFC 9110 §5.3).
  ///
  /// URLSession decodes a body with a Content-Encoding whatever the request. As decoded bytes are
  /// not those of the range, such a response (200, 206) fails with `TransportError.Code.malformed`.
  /// Only a whole document (200) in gzip or deflate is passed on decoded: sent neither in chunks
  /// nor with a Content-Length, it may end too early without an error.
  ///
  /// `MediaCache.Configuration` limits silence; the limit here is five minutes. The body of a
  /// relayed request is kept in memory, up to 4 MiB; an encoded response is passed on decoded.
  ///
  /// Not available on Linux, where URLSession ends the process on some invalid responses.
  public struct URLSessionTransport: RelayingTransport {
    private let sessions: URLSessions

    /// - Parameters:
    ///   - challengeHandler: called, on no particular thread, when a connection or a server
    ///     requires authentication, such as Digest (RFC 7616). Nil: the system decides on the trust
    ///     in servers, and a 401 or 407 is the response.
    ///   - onMetrics: called for each request that has ended, in order, on the session's queue,
    ///     which it must not block.
    public init(
      challengeHandler: AuthenticationChallengeHandler? = nil,
      onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)? = nil
    ) {
      sessions = URLSessions(challengeHandler, onMetrics)
    }

    public func send(_ request: OriginRequest) async throws -> OriginResponse {
      try await sessions.send(request)
    }
  }

  /// The sessions of a transport, which it ends: one that is not invalidated stays forever.
  final class URLSessions: Sendable {
    /// Far beyond the callers' limit.
    private static let longestSilence: TimeInterval = 300

    let challengeHandler: AuthenticationChallengeHandler?
    let onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)?
    /// Serial, for callbacks and all operations on tasks: no cooperative thread is blocked.
    let queue = OperationQueue()
    private let prompt: URLSession
    /// Waiting for a network is a session's property, not a request's.
    private let waiting: URLSession

    init(
      _ challengeHandler: AuthenticationChallengeHandler?,
      _ onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)?
    ) {
      (self.challengeHandler, self.onMetrics) = (challengeHandler, onMetrics)
      queue.name = "refrain.urlsession"
      queue.maxConcurrentOperationCount = 1
      let configuration = URLSessionConfiguration.ephemeral
      configuration.urlCache = nil
      configuration.httpCookieStorage = nil
      // Without a credential, a 401 is the response.
      configuration.urlCredentialStorage = nil
      configuration.httpMaximumConnectionsPerHost = 64
      configuration.timeoutIntervalForRequest = Self.longestSilence
      // Each session copies its configuration.
      prompt = URLSession(configuration: configuration, delegate: nil, delegateQueue: queue)
      configuration.waitsForConnectivity = true
      waiting = URLSession(configuration: configuration, delegate: nil, delegateQueue: queue)
    }

    /// Running tasks finish.
    deinit {
      prompt.finishTasksAndInvalidate()
      waiting.finishTasksAndInvalidate()
    }

    func send(_ request: OriginRequest) async throws -> OriginResponse {
      try request.check()
      if request.waitsForConnectivity, request.access != NetworkPolicy.Access() {
        // A waiting session does not report a network that may not be used.
        var prompt = request
        prompt.waitsForConnectivity = false
        do {
          return try await exchange(prompt)
        } catch let error as TransportError where error.cause == .noNetwork {}
      }
      return try await exchange(request)
    }

    private func exchange(_ request: OriginRequest) async throws -> OriginResponse {
      // URLSession could also read a stream, but on a thread that waits for it.
      var upload: Data?
      if let body = request.body {
        guard body.length <= 4 << 20 else {
          throw MediaCacheError(
            .badURL, "The body of the request is longer than 4 MiB.",
            remedy: "Send it to the origin without this proxy.")
        }
        var whole = Data()
        while whole.count < body.length { try await whole.append(body.next()) }
        upload = whole
      }
      return try await URLSessionExchange(request, upload, over: self).send()
    }

    func task(_ request: OriginRequest, _ upload: Data?) -> URLSessionDataTask {
      let silence = request.longestSilence?.components.seconds
      // Verbatim: the signature of a signed URL covers its spelling.
      var outgoing = URLRequest(
        url: request.url, cachePolicy: .reloadIgnoringLocalCacheData,
        timeoutInterval: silence.map(TimeInterval.init) ?? Self.longestSilence)
      outgoing.httpShouldHandleCookies = false
      for field in request.headers.fields {
        outgoing.addValue(field.value, forHTTPHeaderField: field.name)
      }
      outgoing.allowsExpensiveNetworkAccess = request.access.allowsExpensive
      outgoing.allowsConstrainedNetworkAccess = request.access.allowsConstrained
      outgoing.httpMethod = request.method
      let session = request.waitsForConnectivity ? waiting : prompt
      return upload.map { session.uploadTask(with: outgoing, from: $0) }
        ?? session.dataTask(with: outgoing)
    }
  }
#endif
