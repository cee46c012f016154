// SPDX-License-Identifier: MIT
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The events and questions of URLSession about the task. On the queue.
extension URLSessionExchange {
  func responseCame(
    _ response: URLResponse, of task: URLSessionTask
  ) -> URLSession.ResponseDisposition {
    guard let response = response as? HTTPURLResponse else {
      return refuse(errors.malformed("a response without a status"), task)
    }
    let field = response.value(forHTTPHeaderField: "Content-Encoding") ?? ""
    let coding = (["Content-Encoding": field] as HeaderFields).contentCodings
      .joined(separator: ", ")
    let isCoded = !coding.isEmpty
    let isDecoded = isCoded && decodes(response, coding)
    // Linux also reports interim responses (RFC 9110 §15.2).
    guard response.statusCode >= 200 else { return .allow }
    do throws(TransportError) {
      let announced = try announcedLength(response)
      if isDecoded { expectDecodedBody(announced: announced) }
      headCame(response, announced: isCoded ? nil : announced)
    } catch {
      return refuse(error, task)
    }
    if isCoded, !isDecoded, relayed == nil,
      WholeResponse.statuses.contains(response.statusCode) || response.statusCode == 206
    {
      return refuse(
        errors.malformed("a body encoded with \(coding.prefix(40)), which was declined"), task)
    }
    return .allow
  }

  /// Whether URLSession's decoded body can be used: that of a whole document.
  private func decodes(_ response: HTTPURLResponse, _ name: String) -> Bool {
    guard relayed == nil, WholeResponse.statuses.contains(response.statusCode) else { return false }
    switch name.lowercased() {
    case "gzip", "x-gzip", "deflate": break
    // URLSession supports Brotli over https alone.
    case "br" where request.url.scheme?.lowercased() == "https": break
    default: return false
    }
    let type = MediaType.essence(response.value(forHTTPHeaderField: "Content-Type"))
    return request.isForDocument(mimeType: type)
  }

  private func refuse(
    _ error: TransportError, _ task: URLSessionTask
  ) -> URLSession.ResponseDisposition {
    end(error)
    // Linux ignores the returned disposition.
    task.cancel()
    return .cancel
  }

  /// Returns the announced length of the body (RFC 9110 §8.6): a Content-Length beside a
  /// Transfer-Encoding does not count, and a response without a body may carry another one's
  /// length.
  private func announcedLength(_ response: HTTPURLResponse) throws(TransportError) -> Int64? {
    guard ![204, 304].contains(response.statusCode), relayed?.method != "HEAD",
      let text = response.value(forHTTPHeaderField: "Content-Length")
    else { return nil }
    let fields: HeaderFields = ["Content-Length": text]
    guard ContentLength(fields) != .invalid else {
      throw errors.malformed("a Content-Length of \(text.prefix(40))")
    }
    return response.value(forHTTPHeaderField: "Transfer-Encoding") == nil ? fields.bodyLength : nil
  }

  /// Called when the task has ended, as its last callback.
  func taskEnded(_ task: URLSessionTask, _ error: (any Error)?) {
    #if canImport(FoundationNetworking)
      // A 3xx without a target is delivered nowhere else.
      if error == nil, !hasHead, let response = task.response as? HTTPURLResponse {
        headCame(response)
      }
    #endif
    end(error.map { errors.translate($0, beforeHead: !hasHead, isResting: isResting) })
    letGoOfTask()
  }

  #if canImport(FoundationNetworking)
    /// Ends the exchange with a response without a body.
    func endedWith(_ response: HTTPURLResponse) {
      headCame(response)
      end()
    }

    /// Called here once a whole 401 has arrived. Default handling would wait forever, and any
    /// scheme but Basic would end the process ("… is not supported").
    func answer(
      _ challenge: URLAuthenticationChallenge,
      _ completionHandler:
        @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      end()
      completionHandler(.cancelAuthenticationChallenge, nil)
    }
  #else
    func answer(
      _ challenge: URLAuthenticationChallenge,
      _ completionHandler:
        @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      guard let challengeHandler else {
        let credential = digestCredential(for: challenge)
        return completionHandler(
          credential == nil ? .performDefaultHandling : .useCredential, credential)
      }
      Task {
        let (disposition, credential) = await challengeHandler(challenge)
        completionHandler(disposition, credential)
      }
    }

    /// Returns the user and password of the request's Basic credentials, if the origin offers
    /// Digest authentication (RFC 7616) in response to them.
    private func digestCredential(for challenge: URLAuthenticationChallenge) -> URLCredential? {
      let space = challenge.protectionSpace
      guard space.authenticationMethod == NSURLAuthenticationMethodHTTPDigest, !space.isProxy(),
        challenge.previousFailureCount == 0,
        let login = UserPassword(authorization: request.headers["Authorization"]),
        let user = String(validating: login.user, as: UTF8.self),
        let password = String(validating: login.password, as: UTF8.self)
      else { return nil }
      return URLCredential(user: user, password: password, persistence: .none)
    }
  #endif
}
