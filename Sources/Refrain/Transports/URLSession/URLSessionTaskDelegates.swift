// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The delegate of a session, which passes URLSession's callbacks to the exchange of each task.
///
/// `URLSessionTask.delegate` would replace it, but URLSession on Linux does not call that.
final class URLSessionTaskDelegates: NSObject, URLSessionDataDelegate {
  /// By `taskIdentifier`, from before the task starts until it has ended.
  private let exchanges = Mutex<[Int: URLSessionExchange]>([:])

  func add(_ exchange: URLSessionExchange, for task: URLSessionTask) {
    exchanges.withLock { $0[task.taskIdentifier] = exchange }
  }

  private func exchange(_ task: URLSessionTask) -> URLSessionExchange? {
    exchanges.withLock { $0[task.taskIdentifier] }
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
    let exchange = exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
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
