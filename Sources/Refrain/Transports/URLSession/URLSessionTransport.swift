// SPDX-License-Identifier: MIT
#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Sends requests over URLSession: the default transport on Apple platforms, where the system
/// selects the network, respects its cost, and uses VPNs and proxies. It is available on Linux,
/// too; `CurlTransport` is faster there, and uses less memory.
///
/// The body is streamed with back-pressure: once 256 KiB are unread, the task is suspended. Nothing
/// is cached, no cookie is stored or sent, no redirect is followed. URLSession adds `Accept`,
/// `Accept-Language` and `Connection` if a request has none. Fields of one name are sent, and
/// returned, as one, joined by commas (RFC 9110 §5.3).
///
/// URLSession decodes a body with a Content-Encoding whatever the request, and the original is not
/// available. As decoded bytes would not be the bytes of the range, such a response (200, 206)
/// fails with `TransportError.Code.malformed`.
///
/// `Configuration` limits silence; the limit here is five minutes.
///
/// The body of a relayed request is written to a file first; an encoded response is passed on
/// decoded.
///
/// On Linux the task is not suspended, so that a body that arrives faster than it is read is held
/// in memory; dot segments are removed from a URL's path; the body of a redirect is missing.
/// URLSession itself ends the process there on some redirects ("Fatal error: Invalid URL", for an
/// invalid Location) and on a connection that breaks within a head ("Transfer completed, but
/// there's no response"), before any caller can react: do not use it there for untrusted servers.
public struct URLSessionTransport: Transport {
  /// Handles an authentication challenge of a server or an intermediary: a client certificate,
  /// trust in a certificate, a proxy's password. As
  /// `URLSessionTaskDelegate.urlSession(_:task:didReceive:)`.
  public typealias ChallengeHandler =
    @Sendable (URLAuthenticationChallenge) async -> (
      URLSession.AuthChallengeDisposition, URLCredential?
    )

  private let sessions: URLSessions
  private let challengeHandler: ChallengeHandler?

  #if canImport(FoundationNetworking)
    /// - Parameter challengeHandler: called for a user and password, on no particular thread, when
    ///   a server responds 401. Nil: the 401 is the response, and `Configuration.authorize` is
    ///   called. On Linux only Basic (RFC 7617) supports a credential, and trust in a server causes
    ///   no challenge.
    public init(challengeHandler: ChallengeHandler? = nil) {
      sessions = URLSessions()
      self.challengeHandler = challengeHandler
    }
  #else
    private let onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)?

    /// - Parameters:
    ///   - challengeHandler: called, on no particular thread, when a connection or a server
    ///     requires authentication. Nil: the system decides on the trust in servers, and a 401 or
    ///     407 is the response; after a 401, `Configuration.authorize` is called.
    ///   - onMetrics: called for each request that has ended, in order, on the session's queue,
    ///     which it must not block. (URLSession on Linux collects no metrics, so that it is missing
    ///     there.)
    public init(
      challengeHandler: ChallengeHandler? = nil,
      onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)? = nil
    ) {
      sessions = URLSessions()
      self.challengeHandler = challengeHandler
      self.onMetrics = onMetrics
    }
  #endif

  public func send(_ request: OriginRequest) async throws -> OriginResponse {
    try request.check()
    if request.waitsForConnectivity, request.access != NetworkPolicy.Access() {
      // A waiting session does not report why there is no network. So the first request does not
      // wait, to detect a network that may not be used.
      var prompt = request
      prompt.waitsForConnectivity = false
      do {
        return try await exchange(prompt)
      } catch let error as TransportError where error.isForLackOfNetwork {}
    }
    return try await exchange(request)
  }

  func exchange(
    _ request: OriginRequest, relaying relayed: RelayedUpload? = nil
  ) async throws -> OriginResponse {
    try Task.checkCancellation()
    let exchange = URLSessionExchange(
      request: request, relayed: relayed, queue: sessions.queue,
      challengeHandler: challengeHandler)
    #if !canImport(FoundationNetworking)
      exchange.onMetrics = onMetrics
    #endif
    let head = try await exchange.head { [sessions] in sessions.task(for: exchange) }
    return OriginResponse(
      status: head.status, headers: head.headers, body: URLSessionBody(exchange))
  }
}

/// The sessions of one transport, which it ends: a session that is not invalidated stays forever.
final class URLSessions: Sendable {
  /// The delegates' serial queue. All operations on tasks run here too: in order, and without
  /// blocking a cooperative thread.
  let queue: OperationQueue
  private let prompt: (session: URLSession, delegates: URLSessionTaskDelegates)
  /// Waiting for a network is a session's property, not a request's. Linux lacks it.
  private let waiting: (session: URLSession, delegates: URLSessionTaskDelegates)

  /// The silence that ends a request, in seconds: far beyond the callers' limit.
  private static let longestSilence: TimeInterval = 300

  init() {
    queue = OperationQueue()
    queue.name = "refrain.urlsession"
    queue.maxConcurrentOperationCount = 1
    prompt = Self.session(Self.configuration, queue)
    #if canImport(FoundationNetworking)
      waiting = prompt
    #else
      let configuration = Self.configuration
      configuration.waitsForConnectivity = true
      waiting = Self.session(configuration, queue)
    #endif
  }

  private static func session(
    _ configuration: URLSessionConfiguration, _ queue: OperationQueue
  ) -> (URLSession, URLSessionTaskDelegates) {
    let delegates = URLSessionTaskDelegates()
    return (
      URLSession(configuration: configuration, delegate: delegates, delegateQueue: queue), delegates
    )
  }

  /// Running tasks finish.
  deinit {
    prompt.session.finishTasksAndInvalidate()
    if waiting.session !== prompt.session { waiting.session.finishTasksAndInvalidate() }
  }

  private static var configuration: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpCookieStorage = nil
    configuration.httpCookieAcceptPolicy = .never
    configuration.httpShouldSetCookies = false
    // Without a credential, a 401 is the response.
    configuration.urlCredentialStorage = nil
    configuration.httpMaximumConnectionsPerHost = 64
    configuration.timeoutIntervalForRequest = longestSilence
    return configuration
  }

  /// Creates the task of an exchange, not started. On `queue`.
  func task(for exchange: URLSessionExchange) -> URLSessionDataTask {
    let request = exchange.request
    // Verbatim: the signature of a signed URL covers its spelling.
    var outgoing = URLRequest(
      url: request.url, cachePolicy: .reloadIgnoringLocalCacheData,
      timeoutInterval: Self.longestSilence)
    outgoing.httpShouldHandleCookies = false
    for field in request.headers.fields {
      outgoing.addValue(field.value, forHTTPHeaderField: field.name)
    }
    #if !canImport(FoundationNetworking)
      outgoing.allowsExpensiveNetworkAccess = request.access.allowsExpensive
      outgoing.allowsConstrainedNetworkAccess = request.access.allowsConstrained
    #endif
    let (session, delegates) = request.waitsForConnectivity ? waiting : prompt
    let task: URLSessionDataTask
    if let relayed = exchange.relayed {
      outgoing.httpMethod = relayed.method
      outgoing.timeoutInterval = relayed.longestSilence
      task =
        relayed.file.map { session.uploadTask(with: outgoing, fromFile: $0.url) }
        ?? session.dataTask(with: outgoing)
    } else {
      task = session.dataTask(with: outgoing)
    }
    delegates.add(exchange, for: task)
    return task
  }
}
