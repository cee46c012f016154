// SPDX-License-Identifier: MIT
#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking
#else
  import Foundation
#endif

/// Sends requests over URLSession, for `URLSessionTransport`.
///
/// Compiled on Linux for the tests alone: there the task is not suspended, so that a body that
/// arrives faster than it is read is held in memory; dot segments are removed from a URL's path;
/// the body of a redirect is missing; and URLSession ends the process on some redirects ("Fatal
/// error: Invalid URL") and on a connection that breaks within a head ("Transfer completed, but
/// there's no response").
struct URLSessionRequests: Transport {
  private let sessions: URLSessions
  private let challengeHandler: AuthenticationChallengeHandler?
  private let mostUnread: Int

  #if canImport(FoundationNetworking)
    /// - Parameter mostUnread: the bound of unread bytes; none by default, since without suspending
    ///   the task any reader that is slower than its origin would reach it.
    init(mostUnread: Int = .max) {
      sessions = URLSessions()
      challengeHandler = nil
      self.mostUnread = mostUnread
    }
  #else
    private let onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)?

    init(
      challengeHandler: AuthenticationChallengeHandler?,
      onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)?
    ) {
      sessions = URLSessions()
      self.challengeHandler = challengeHandler
      self.onMetrics = onMetrics
      mostUnread = ChunkQueue.most
    }
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

  func exchange(
    _ request: OriginRequest, relaying relayed: RelayedUpload? = nil
  ) async throws -> OriginResponse {
    try Task.checkCancellation()
    let exchange = URLSessionExchange(
      request: request, relayed: relayed, queue: sessions.queue,
      challengeHandler: challengeHandler, mostUnread: mostUnread)
    #if !canImport(FoundationNetworking)
      exchange.onMetrics = onMetrics
    #endif
    let head = try await exchange.head { [sessions] in sessions.task(for: exchange) }
    var response = OriginResponse(
      status: head.status, headers: head.headers, body: TransportBody(exchange))
    response.isDecoded = exchange.isDecoded
    return response
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
      outgoing.timeoutInterval = relayed.longestSilence ?? Self.longestSilence
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

extension URLSessionRequests: RelayingTransport {
  func relay(_ request: RelayedRequest) async throws -> OriginResponse {
    let outgoing = OriginRequest(url: request.url, headers: request.headers)
    try outgoing.check()
    return try await exchange(outgoing, relaying: RelayedUpload(request))
  }
}

/// The properties of a relayed request that URLSession needs besides its URL and header fields.
struct RelayedUpload: Sendable {
  let method: String
  /// In seconds.
  let longestSilence: TimeInterval?
  /// The body. URLSession could also read a stream, but on a thread that waits for it.
  let file: UploadFile?

  init(_ request: RelayedRequest) async throws {
    method = request.method
    longestSilence = request.longestSilence.map { TimeInterval($0.components.seconds) }
    file = if let body = request.body { try await UploadFile(body) } else { nil }
  }
}

/// A temporary file, removed when its last user releases it.
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
