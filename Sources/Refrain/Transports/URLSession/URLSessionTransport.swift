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
  /// not available. As decoded bytes are not those of the range, such a response (200, 206) fails
  /// with `TransportError.Code.malformed`. Only a whole document (200) in gzip or deflate is passed
  /// on decoded: sent neither in chunks nor with a Content-Length, it may end too early without an
  /// error.
  ///
  /// `MediaCache.Configuration` limits silence; the limit here is five minutes.
  ///
  /// The body of a relayed request is kept in memory, up to 4 MiB; an encoded response is passed on
  /// decoded.
  ///
  /// Not available on Linux, where URLSession ends the process on some invalid responses.
  public struct URLSessionTransport: RelayingTransport {
    private let requests: URLSessionRequests

    /// - Parameters:
    ///   - challengeHandler: called, on no particular thread, when a connection or a server
    ///     requires authentication, such as Digest (RFC 7616). Nil: the system decides on the trust in
    ///     servers, and a 401 or 407 is the response; after a 401, `MediaCache.Configuration.authorize`
    ///     is called.
    ///   - onMetrics: called for each request that has ended, in order, on the session's queue,
    ///     which it must not block.
    public init(
      challengeHandler: AuthenticationChallengeHandler? = nil,
      onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)? = nil
    ) {
      requests = URLSessionRequests(challengeHandler, onMetrics)
    }

    public func send(_ request: OriginRequest) async throws -> OriginResponse {
      try await requests.send(request)
    }
  }

  /// Sends requests over URLSession, for `URLSessionTransport`. It ends its sessions: one that is not
  /// invalidated stays forever.
  private final class URLSessionRequests: Sendable {
    /// The silence that ends a request, in seconds: far beyond the callers' limit.
    private static let longestSilence: TimeInterval = 300
    /// In bytes.
    private static let longestUpload = 4 << 20

    private let challengeHandler: AuthenticationChallengeHandler?
    private let onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)?
    /// The delegate's serial queue. All operations on tasks run here too: in order, and without
    /// blocking a cooperative thread.
    private let queue = OperationQueue()
    private let delegate = URLSessionTaskDelegates()
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
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      configuration.httpCookieStorage = nil
      configuration.httpCookieAcceptPolicy = .never
      configuration.httpShouldSetCookies = false
      // Without a credential, a 401 is the response.
      configuration.urlCredentialStorage = nil
      configuration.httpMaximumConnectionsPerHost = 64
      configuration.timeoutIntervalForRequest = Self.longestSilence
      // Each session copies its configuration.
      prompt = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
      configuration.waitsForConnectivity = true
      waiting = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    /// Running tasks finish.
    deinit {
      prompt.finishTasksAndInvalidate()
      waiting.finishTasksAndInvalidate()
    }

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

    private func exchange(_ request: OriginRequest) async throws -> OriginResponse {
      // URLSession could also read a stream, but on a thread that waits for it.
      var upload: Data?
      if let body = request.body {
        guard body.length <= Self.longestUpload else {
          throw MediaCacheError(
            .badURL, "The body of the request is longer than 4 MiB.",
            remedy: "Send it to the origin without this proxy.")
        }
        var whole = Data()
        while whole.count < body.length { try await whole.append(body.next()) }
        upload = whole
      }
      let exchange = URLSessionExchange(
        request: request, queue: queue, challengeHandler: challengeHandler, onMetrics: onMetrics)
      return try await exchange.send { [self, upload] in task(for: exchange, upload) }
    }

    /// Creates the task of an exchange, not started. On `queue`.
    private func task(for exchange: URLSessionExchange, _ upload: Data?) -> URLSessionDataTask {
      let request = exchange.request
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
      let task: URLSessionDataTask =
        upload.map { session.uploadTask(with: outgoing, from: $0) }
        ?? session.dataTask(with: outgoing)
      delegate.add(exchange, for: task)
      return task
    }
  }

  /// The delegate of the sessions, which passes URLSession's callbacks to the exchange of each task.
  private final class URLSessionTaskDelegates: NSObject, URLSessionDataDelegate {
    /// From before the task starts until it has ended. Used only on the sessions' serial queue.
    private nonisolated(unsafe) var exchanges: [URLSessionTask: URLSessionExchange] = [:]

    /// On the queue.
    func add(_ exchange: URLSessionExchange, for task: URLSessionTask) {
      exchanges[task] = exchange
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      guard let exchange = exchanges[dataTask] else { return completionHandler(.cancel) }
      completionHandler(exchange.responseCame(response))
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      exchanges[dataTask]?.bytesCame(data)
    }

    /// Ends with a redirect as with any response; the caller decides whether to follow it.
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      completionHandler(nil)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler:
        @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      guard let exchange = exchanges[task] else {
        return completionHandler(.cancelAuthenticationChallenge, nil)
      }
      exchange.answer(challenge, completionHandler)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      exchanges.removeValue(forKey: task)?.taskEnded(error)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
      exchanges[task]?.networkIsAwaited()
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
      exchanges[task]?.measured(metrics)
    }
  }
#endif
