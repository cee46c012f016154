// SPDX-License-Identifier: MIT
#if !canImport(FoundationNetworking)
  import Foundation

  /// One request over URLSession, its response, and the delegate of its task, which URLSession
  /// retains until the task has ended. The callbacks arrive one at a time, on the sessions' queue.
  final class URLSessionExchange: NSObject, TransportExchange, URLSessionDataDelegate {
    let response = ResponseBuffer()
    private let request: OriginRequest
    private let upload: Data?
    private let sessions: URLSessions
    private let host: String
    /// Used only on the sessions' queue, which is serial.
    private nonisolated(unsafe) var state = State()

    private struct State {
      var task: URLSessionTask?
      var isWaitingForNetwork = false
      var hasHead = false
      /// Whether the rest of the body can be requested later, by its range.
      var isContinuable = false
      /// The bytes of the body received, and those announced.
      var received: Int64 = 0
      var announced: Int64?
      /// The announced length of a body that URLSession decodes, before it does.
      var announcedEncoded: Int64?
    }

    init(_ request: OriginRequest, _ upload: Data?, over sessions: URLSessions) {
      (self.request, self.upload, self.sessions) = (request, upload, sessions)
      host = request.url.host() ?? ""
    }

    func start() {
      sessions.queue.addOperation { [self] in
        guard !response.isOver else { return }
        let task = sessions.task(request, upload)
        task.delegate = self
        state.task = task
        task.resume()
      }
    }

    func abandon() { sessions.queue.addOperation { [self] in state.task?.cancel() } }

    /// On the queue, as suspending: tasks count both.
    func goOn() { sessions.queue.addOperation { [self] in state.task?.resume() } }

    // MARK: The head

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      networkCame()
      do throws(TransportError) {
        if let response = response as? HTTPURLResponse { try headCame(response) }
        completionHandler(.allow)
      } catch {
        self.response.end(error)
        completionHandler(.cancel)
      }
    }

    private func headCame(_ response: HTTPURLResponse) throws(TransportError) {
      // URLSession keeps neither the order of fields nor their repetitions.
      let fields = response.allHeaderFields as? [String: String] ?? [:]
      let sorted = HeaderFields(fields.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 })
      var head: ResponseBuffer.Head = (response.statusCode, sorted, false)
      let codings = head.headers.contentCodings.joined(separator: ", ")
      var length: Int64?
      // A response without a body may carry another one's length (RFC 9110 §8.6).
      if ![204, 304].contains(head.status), request.method != "HEAD" {
        guard !head.headers.hasInvalidLength else {
          throw .malformed(host, "it has an invalid Content-Length")
        }
        length = head.headers.bodyLength
      }
      let isWhole = WholeResponse.statuses.contains(head.status)
      // Of the bodies that URLSession decodes, that of a whole document can be used.
      head.isDecoded =
        isWhole && !request.isRelayed && ["gzip", "x-gzip", "deflate"].contains(codings)
        && request.isForDocument(mimeType: MediaType.essence(head.headers["Content-Type"]))
      if head.isDecoded || request.isRelayed, !codings.isEmpty {
        head.headers.dropCoding()
        // Clients use a tag for ranges, too.
        if request.isRelayed { head.headers["ETag"] = nil }
      }
      // A relayed body has to arrive as one.
      state.isContinuable =
        !request.isRelayed && head.status == 206 && Validator(headers: head.headers).ifRange != nil
      state.hasHead = true
      if codings.isEmpty { state.announced = length }
      if head.isDecoded { state.announcedEncoded = length }
      self.response.receive(head)
      if !codings.isEmpty, !head.isDecoded, !request.isRelayed, isWhole || head.status == 206 {
        throw .malformed(host, "its body is encoded with \(codings.prefix(40)), unasked")
      }
    }

    /// Ends with a redirect as with any response; the caller decides whether to follow it.
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest
    ) async -> URLRequest? { nil }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
      await sessions.challengeHandler?(challenge) ?? (.performDefaultHandling, nil)
    }

    // MARK: The body and its end

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      guard !data.isEmpty else { return }
      state.received += Int64(data.count)
      let (suspends, cancels) = response.change { buffer in
        guard buffer.end == nil else { return ((false, false), wakes: false) }
        buffer.chunks.append(data)
        // Nothing is unread if the reader waits for it.
        let unread = buffer.waiter == nil ? buffer.chunks.reduce(0) { $0 + $1.count } : 0
        // URLSession may go on delivering after the task was suspended.
        let isTooMuch = state.isContinuable && unread > 2 << 20
        if isTooMuch {
          let text = "The response of \(host) was not read, and its connection was closed."
          buffer.end = .failure(TransportError(.connectionLost, text, cause: .unread))
        }
        let rests = unread > 256 << 10 && !buffer.isPaused
        if rests { buffer.isPaused = true }
        return ((rests, isTooMuch), wakes: true)
      }
      if suspends { dataTask.suspend() }
      if cancels { dataTask.cancel() }
    }

    /// Compares the announced length of an encoded body with the number of bytes received.
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
      let received = metrics.transactionMetrics.last?.countOfResponseBodyBytesReceived ?? 0
      if let announced = state.announcedEncoded, received > 0 {
        (state.received, state.announced) = (received, announced)
      }
      sessions.onMetrics?(metrics)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      state.task = nil
      networkCame()
      if let error {
        response.end(.urlSession(error, host: host, hasHead: state.hasHead))
      } else if state.hasHead {
        // URLSession does not always notice missing bytes.
        let missing = state.announced.map { $0 - state.received } ?? 0
        response.end(missing > 0 ? .lost(host, "\(missing) bytes are missing") : nil)
      } else {
        response.end(TransportError.lost(host, "it closed without a response"))
      }
    }

    // MARK: A network

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
      state.isWaitingForNetwork = true
      request.onConnectivity?(.waiting)
    }

    /// Reports the end of a wait, which URLSession does not: a response or an end shows it.
    private func networkCame() {
      guard state.isWaitingForNetwork else { return }
      state.isWaitingForNetwork = false
      request.onConnectivity?(.available)
    }
  }

  extension TransportError {
    static func urlSession(_ error: any Error, host: String, hasHead: Bool) -> TransportError {
      let text = (error as? URLError)?.localizedDescription ?? "\(error)"
      let words = text.prefix(300).trimmingCharacters(in: ["."])
      let error = error as? URLError
      // CFNetwork's key.
      let systemError = error?.userInfo["_kCFStreamErrorCodeKey"] as? Int32
      switch error?.code {
      case .badURL, .appTransportSecurityRequiresSecureConnection:
        return TransportError(.badURL, "The URL at \(host) cannot be requested: \(words).")
      case .timedOut: return TransportError(.timedOut, "\(host) was silent for too long.")
      case .cannotFindHost: return TransportError(.unknownHost, "The host \(host) does not exist.")
      case .cannotConnectToHost where systemError == ECONNREFUSED:
        return TransportError(.refused, "\(host) refused the connection.")
      case .serverCertificateHasBadDate, .serverCertificateUntrusted,
        .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
        return TransportError(.untrusted, "The certificate of \(host) is not trusted: \(words).")
      case .badServerResponse, .cannotParseResponse, .cannotDecodeContentData, .cannotDecodeRawData,
        .dataLengthExceedsMaximum, .httpTooManyRedirects:
        return .malformed(host, words)
      case .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
        guard error?.networkUnavailableReason == nil else {
          return TransportError(
            .networkNotAllowed,
            "No request was sent to \(host): this network is metered, or in Low Data Mode.")
        }
        return .unreachable(host, "could not be reached: there is no network", cause: .noNetwork)
      default:
        return hasHead
          ? .lost(host, words) : .unreachable(host, "could not be reached: \(words)")
      }
    }
  }
#endif
