// SPDX-License-Identifier: MIT
#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// Hands on to the delegate of a task what URLSession tells its own: on Linux it does not ask a
  /// task for its delegate, though a task can be given one.
  final class URLSessionTaskDelegates: NSObject, URLSessionDataDelegate {
    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      exchange(dataTask)?.urlSession(
        session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      exchange(dataTask)?.urlSession(session, dataTask: dataTask, didReceive: data)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      exchange(task)?.urlSession(
        session, task: task, willPerformHTTPRedirection: response, newRequest: request,
        completionHandler: completionHandler)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler:
        @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      exchange(task)?.urlSession(
        session, task: task, didReceive: challenge, completionHandler: completionHandler)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      exchange(task)?.urlSession(session, task: task, didCompleteWithError: error)
    }

    private func exchange(_ task: URLSessionTask) -> URLSessionExchange? {
      task.delegate as? URLSessionExchange
    }
  }
#endif
