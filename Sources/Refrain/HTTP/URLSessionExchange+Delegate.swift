// SPDX-License-Identifier: MIT
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What URLSession tells, and asks.
extension URLSessionExchange: URLSessionDataDelegate {
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    guard let response = response as? HTTPURLResponse else {
      end(errors.malformed("an answer without a status"))
      return completionHandler(.cancel)
    }
    let coding = response.value(forHTTPHeaderField: "Content-Encoding")?.lowercased() ?? "identity"
    let isCoded = coding != "identity"
    // Linux tells of those that come before the answer, too (RFC 9110 §15.2).
    guard response.statusCode >= 200 else { return completionHandler(.allow) }
    #if canImport(FoundationNetworking)
      if response.statusCode == 401, challengeHandler != nil {
        hold(response)
        return completionHandler(.allow)
      }
    #endif
    do throws(TransportError) {
      let announced = try announcedLength(response)
      headCame(response, announced: isCoded ? nil : announced)
    } catch {
      end(error)
      dataTask.cancel()
      return completionHandler(.cancel)
    }
    if isCoded, response.statusCode == 200 || response.statusCode == 206 {
      end(errors.malformed("a body that is \(coding.prefix(40)), which was declined"))
      dataTask.cancel()
      return completionHandler(.cancel)
    }
    completionHandler(.allow)
  }

  /// How many bytes are to come (RFC 9110 §8.6): a Content-Length beside a Transfer-Encoding does not
  /// count, and an answer that has no body may tell of the length of another's.
  private func announcedLength(_ response: HTTPURLResponse) throws(TransportError) -> Int64? {
    guard ![204, 304].contains(response.statusCode),
      response.value(forHTTPHeaderField: "Transfer-Encoding") == nil,
      let text = response.value(forHTTPHeaderField: "Content-Length")
    else { return nil }
    // Said several times, it has to be the same each time.
    let lengths = Set(text.split(separator: ",").map { Int64(digits: String($0).trimmingOWS) })
    guard lengths.count == 1, let length = lengths.first ?? nil else {
      throw errors.malformed("\(text.prefix(40)) for a Content-Length")
    }
    return length
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    bytesCame(data)
  }

  /// A redirect is an answer like any other; where it leads is decided above.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    #if canImport(FoundationNetworking)
      // The answer has come to its end by now, and its body is not to be had. The handler would end
      // the process where the task was cancelled in the meantime ("Received callback for HTTP
      // redirection, but we're not waiting for it"); to cancel the task does as well.
      headCame(response, announced: nil)
      end()
      task.cancel()
    #else
      completionHandler(nil)
    #endif
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    #if canImport(FoundationNetworking)
      // A 3xx that does not say where to go is nowhere else handed on.
      let untold = takeHeld() ?? task.response as? HTTPURLResponse
      if error == nil, !hasHead, let untold { headCame(untold, announced: nil) }
    #endif
    end(error.map { errors.translate($0, beforeHead: !hasHead) })
    taskEnded()
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler:
      @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    #if canImport(FoundationNetworking)
      answerLate(challenge, completionHandler)
    #else
      guard let challengeHandler else { return completionHandler(.performDefaultHandling, nil) }
      Task {
        let (disposition, credential) = await challengeHandler(challenge)
        completionHandler(disposition, credential)
      }
    #endif
  }

  #if canImport(FoundationNetworking)
    /// Asked here once all of a 401 has come. To perform the default handling would be to wait for
    /// good, and any scheme but Basic would end the process ("… is not supported").
    private func answerLate(
      _ challenge: URLAuthenticationChallenge,
      _ completionHandler:
        @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      let giveUp: @Sendable () -> Void = { [self] in
        if let held = takeHeld() { headCame(held, announced: nil) }
        end()
        completionHandler(.cancelAuthenticationChallenge, nil)
      }
      let scheme = challenge.protectionSpace.authenticationMethod
      guard let challengeHandler, scheme == NSURLAuthenticationMethodHTTPBasic else {
        return giveUp()
      }
      Task {
        let answer = await challengeHandler(challenge)
        queue.addOperation { [self] in
          guard answer.0 == .useCredential, let credential = answer.1, !isCancelled else {
            return giveUp()
          }
          _ = takeHeld(forgettingBody: true)
          completionHandler(.useCredential, credential)
        }
      }
    }
  #endif

  #if !canImport(FoundationNetworking)
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
      networkIsAwaited()
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
      onMetrics?(metrics)
    }
  #endif
}
