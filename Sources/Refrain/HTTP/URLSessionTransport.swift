// SPDX-License-Identifier: MIT
#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Requests over URLSession: the transport on Apple's platforms, where the system chooses the network,
/// keeps to what it may cost, and goes through VPNs and proxies. It is there on Linux, too, for those
/// who want it; `CurlTransport` is quicker there, and holds less memory.
///
/// The body is streamed with back-pressure: once 256 KiB lie there unread, the task is suspended. Nothing
/// is cached, no cookie is kept or sent, no redirect is followed. What URLSession adds by itself where a
/// request has none of it: `Accept`, `Accept-Language`, `Connection`. Fields of one name are sent,
/// and handed on, as one, joined by commas (RFC 9110 §5.3).
///
/// URLSession decodes a body with a Content-Encoding whatever was asked for, and there is no way
/// to have it as it came. As decoded bytes would not be the bytes of the range, reading such a body
/// (200, 206) ends in `TransportError.Code.malformed`.
///
/// How long a silence may be is watched above this; here it is five minutes.
///
/// The body of a request that is sent on for somebody else is written to a file first; where the answer
/// is encoded, it is handed on decoded.
///
/// On Linux the task is not suspended, so that a body which comes faster than it is read is held in
/// memory; dot segments are taken out of a URL's path; of a redirect the body is left out. And URLSession
/// itself ends the process there over some redirects ("Fatal error: Invalid URL", where a Location makes
/// none) and over a connection that breaks inside of a head ("Transfer completed, but there's no
/// response"), before anybody is told of them: not for servers that are not trusted.
public struct URLSessionTransport: Transport {
  /// Answers what a server, or the way to it, asks for: a client certificate, trust in a certificate,
  /// a proxy's password. As `URLSessionTaskDelegate.urlSession(_:task:didReceive:)`.
  public typealias ChallengeHandler =
    @Sendable (URLAuthenticationChallenge) async -> (
      URLSession.AuthChallengeDisposition, URLCredential?
    )

  private let sessions: URLSessions
  private let challengeHandler: ChallengeHandler?

  #if canImport(FoundationNetworking)
    /// - Parameter challengeHandler: asked for a user and password, on no particular thread, when a
    ///   server answers 401. Nil: the 401 is the answer, and `Configuration.authorize` is asked. On
    ///   Linux only Basic (RFC 7617) can be answered with a credential, and trust in a server is
    ///   never asked for.
    public init(challengeHandler: ChallengeHandler? = nil) {
      sessions = URLSessions()
      self.challengeHandler = challengeHandler
    }
  #else
    private let onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)?

    /// - Parameters:
    ///   - challengeHandler: asked, on no particular thread, when a connection or a server wants to be
    ///     authenticated. Nil: the system decides on the trust in servers, and a 401 or 407 is the
    ///     answer, after which `Configuration.authorize` is asked.
    ///   - onMetrics: told of each request that has ended, in order, on the session's queue, which
    ///     is not to be kept waiting. (URLSession on Linux collects none, so that it is missing there.)
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
      // Whoever waits is not told why there is no network. So it is asked first without waiting,
      // whether there is one which may not be used.
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

/// The sessions of one transport, and what ends them: a session that nobody ends stays for good.
final class URLSessions: Sendable {
  /// The delegates' queue, one call after the other. All that is done to a task is done here too: in
  /// order, and without a cooperative thread that waits for it.
  let queue: OperationQueue
  private let prompt: (session: URLSession, delegates: URLSessionTaskDelegates)
  /// Whether a network is waited for is a session's property, not a request's. Linux has no such thing.
  private let waiting: (session: URLSession, delegates: URLSessionTaskDelegates)

  /// A silence this long is the end, in seconds: far beyond what is allowed above.
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

  /// What is under way comes to its end.
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
    // Without a credential at hand, a 401 is the answer.
    configuration.urlCredentialStorage = nil
    configuration.httpMaximumConnectionsPerHost = 64
    configuration.timeoutIntervalForRequest = longestSilence
    return configuration
  }

  /// The task of an exchange, which has not begun. On `queue`.
  func task(for exchange: URLSessionExchange) -> URLSessionDataTask {
    let request = exchange.request
    // Verbatim: a signed URL is signed as it is spelled.
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
