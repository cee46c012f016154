// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The sessions of one transport, which it ends: a session that is not invalidated stays forever.
final class URLSessions: Sendable {
  /// The delegate's serial queue. All operations on tasks run here too: in order, and without
  /// blocking a cooperative thread.
  let queue: OperationQueue
  private let delegate = URLSessionTaskDelegates()
  private let prompt: URLSession
  /// Waiting for a network is a session's property, not a request's. Linux lacks it.
  private let waiting: URLSession

  /// The silence that ends a request, in seconds: far beyond the callers' limit.
  private static let longestSilence: TimeInterval = 300

  init() {
    queue = OperationQueue()
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
    #if canImport(FoundationNetworking)
      waiting = prompt
    #else
      configuration.waitsForConnectivity = true
      waiting = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    #endif
  }

  /// Running tasks finish.
  deinit {
    prompt.finishTasksAndInvalidate()
    if waiting !== prompt { waiting.finishTasksAndInvalidate() }
  }

  /// Creates the task of an exchange, not started. On `queue`.
  func task(for exchange: URLSessionExchange) -> URLSessionDataTask {
    let request = exchange.request
    let silence = exchange.relayed?.request.longestSilence?.components.seconds
    // Verbatim: the signature of a signed URL covers its spelling.
    var outgoing = URLRequest(
      url: request.url, cachePolicy: .reloadIgnoringLocalCacheData,
      timeoutInterval: silence.map(TimeInterval.init) ?? Self.longestSilence)
    outgoing.httpShouldHandleCookies = false
    for field in request.headers.fields {
      outgoing.addValue(field.value, forHTTPHeaderField: field.name)
    }
    #if !canImport(FoundationNetworking)
      outgoing.allowsExpensiveNetworkAccess = request.access.allowsExpensive
      outgoing.allowsConstrainedNetworkAccess = request.access.allowsConstrained
    #endif
    if let method = exchange.relayed?.request.method { outgoing.httpMethod = method }
    let session = request.waitsForConnectivity ? waiting : prompt
    let task: URLSessionDataTask =
      exchange.relayed?.body.map { session.uploadTask(with: outgoing, fromFile: $0.url) }
      ?? session.dataTask(with: outgoing)
    delegate.add(exchange, for: task)
    return task
  }
}

/// The delegate of the sessions, which passes URLSession's callbacks to the exchange of each task.
///
/// `URLSessionTask.delegate` would replace it, but URLSession on Linux does not call that.
final class URLSessionTaskDelegates: NSObject, URLSessionDataDelegate {
  /// From before the task starts until it has ended.
  private let exchanges = Mutex<[URLSessionTask: URLSessionExchange]>([:])

  func add(_ exchange: URLSessionExchange, for task: URLSessionTask) {
    exchanges.withLock { $0[task] = exchange }
  }

  private func exchange(_ task: URLSessionTask) -> URLSessionExchange? {
    exchanges.withLock { $0[task] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    guard let exchange = exchange(dataTask) else { return completionHandler(.cancel) }
    completionHandler(exchange.responseCame(response, of: dataTask))
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(dataTask)?.bytesCame(data)
  }

  /// Ends with a redirect as with any response; the caller decides whether to follow it.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    #if canImport(FoundationNetworking)
      // The response has ended by now, without access to its body. The handler would end the
      // process if the task was cancelled meanwhile ("Received callback for HTTP redirection,
      // but we're not waiting for it"); cancelling the task works as well.
      exchange(task)?.endedWith(response)
      task.cancel()
    #else
      completionHandler(nil)
    #endif
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler:
      @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    guard let exchange = exchange(task) else {
      return completionHandler(.cancelAuthenticationChallenge, nil)
    }
    exchange.answer(challenge, completionHandler)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    let exchange = exchanges.withLock { $0.removeValue(forKey: task) }
    exchange?.taskEnded(task, error)
  }

  #if !canImport(FoundationNetworking)
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
      exchange(task)?.networkIsAwaited()
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
      exchange(task)?.measured(metrics)
    }
  #endif
}
