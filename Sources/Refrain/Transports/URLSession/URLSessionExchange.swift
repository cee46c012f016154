// SPDX-License-Identifier: MIT
#if !canImport(FoundationNetworking)
  import Foundation

  /// One request over URLSession, and its response. URLSession's callbacks arrive one at a time, on
  /// the session's queue.
  final class URLSessionExchange: TransportExchange {
    /// The task is suspended above this many unread bytes.
    private static let many = 256 << 10
    /// The most unread bytes of a response whose rest can be requested later. URLSession may deliver
    /// for as long as it likes after a task was suspended.
    private static let mostUnread = 2 << 20

    let request: OriginRequest
    let response = ResponseBuffer()
    private let challengeHandler: AuthenticationChallengeHandler?
    private let onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)?
    private let queue: OperationQueue
    private let host: String
    /// Used only on `queue`, which is serial, and on which the session calls its delegate.
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

    init(
      request: OriginRequest, queue: OperationQueue,
      challengeHandler: AuthenticationChallengeHandler?,
      onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)?
    ) {
      self.request = request
      self.queue = queue
      (self.challengeHandler, self.onMetrics) = (challengeHandler, onMetrics)
      host = request.url.host() ?? ""
    }

    /// Starts the task, which `makeTask` creates on the queue, and waits for the head.
    func send(
      _ makeTask: @Sendable @escaping () -> URLSessionDataTask
    ) async throws -> OriginResponse {
      try Task.checkCancellation()
      queue.addOperation { [self] in
        guard !response.isOver else { return }
        let task = makeTask()
        state.task = task
        task.resume()
      }
      return try await head()
    }

    func abandon() {
      queue.addOperation { [self] in state.task?.cancel() }
    }

    /// On the queue, as suspending: tasks count both.
    func goOn() {
      queue.addOperation { [self] in state.task?.resume() }
    }

    // MARK: The head

    func responseCame(_ response: URLResponse) -> URLSession.ResponseDisposition {
      guard let response = response as? HTTPURLResponse else { return .allow }
      do throws(TransportError) {
        try headCame(response)
        return .allow
      } catch {
        end(error)
        return .cancel
      }
    }

    private func headCame(_ response: HTTPURLResponse) throws(TransportError) {
      var head: ResponseBuffer.Head = (response.statusCode, HeaderFields(response), false)
      let codings = head.headers.contentCodings.joined(separator: ", ")
      let length = try announcedLength(head)
      let isWhole = WholeResponse.statuses.contains(head.status)
      head.isDecoded = isWhole && decodes(codings, head.headers)
      if head.isDecoded || request.isRelayed, !codings.isEmpty {
        // The body is decoded, whatever the request.
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
      networkCame()
      self.response.receive(head)
      if !codings.isEmpty, !head.isDecoded, !request.isRelayed, isWhole || head.status == 206 {
        throw .malformed(host, "its body is encoded with \(codings.prefix(40)), unasked")
      }
    }

    /// Whether URLSession's decoded body can be used: that of a whole document.
    private func decodes(_ codings: String, _ fields: HeaderFields) -> Bool {
      !request.isRelayed && ["gzip", "x-gzip", "deflate"].contains(codings)
        && request.isForDocument(mimeType: MediaType.essence(fields["Content-Type"]))
    }

    /// Returns the announced length of the body (RFC 9110 §8.6). A response without a body may carry
    /// another one's length.
    private func announcedLength(_ head: ResponseBuffer.Head) throws(TransportError) -> Int64? {
      guard ![204, 304].contains(head.status), request.method != "HEAD" else { return nil }
      guard !head.headers.hasInvalidLength else {
        throw .malformed(host, "it has an invalid Content-Length")
      }
      return head.headers.bodyLength
    }

    // MARK: The body and its end

    func bytesCame(_ data: Data) {
      guard !data.isEmpty else { return }
      state.received += Int64(data.count)
      let (suspends, cancels) = response.change { buffer in
        guard buffer.end == nil else { return ((false, false), wakes: false) }
        buffer.chunks.append(data)
        // Nothing is unread if the reader waits for it.
        let unread = buffer.waiter == nil ? buffer.byteCount : 0
        let isTooMuch = state.isContinuable && unread > Self.mostUnread
        if isTooMuch { buffer.end = .failure(TransportError.unread(host)) }
        let rests = unread > Self.many && !buffer.isPaused
        if rests { buffer.isPaused = true }
        return ((rests, isTooMuch), wakes: true)
      }
      if suspends { state.task?.suspend() }
      if cancels { state.task?.cancel() }
    }

    /// Compares the announced length of an encoded body with the number of bytes received.
    func measured(_ metrics: URLSessionTaskMetrics) {
      let received = metrics.transactionMetrics.last?.countOfResponseBodyBytesReceived ?? 0
      if let announced = state.announcedEncoded, received > 0 {
        (state.received, state.announced) = (received, announced)
      }
      onMetrics?(metrics)
    }

    func taskEnded(_ error: (any Error)?) {
      state.task = nil
      let (beforeHead, isResting) = (!state.hasHead, response.isPaused)
      end(error.map { .urlSession($0, host: host, beforeHead: beforeHead, isResting: isResting) })
    }

    /// Ends the exchange for its callers; the task may still have to be cancelled.
    private func end(_ failure: TransportError? = nil) {
      networkCame()
      response.end(failure ?? shortcoming)
    }

    /// What a response lacks that has ended without an error.
    private var shortcoming: TransportError? {
      // URLSession does not always notice missing bytes.
      if let announced = state.announced, state.received < announced {
        return .lost(host, "\(announced - state.received) bytes are missing")
      }
      if state.hasHead { return nil }
      return TransportError(.connectionLost, "\(host) closed the connection without a response.")
    }

    // MARK: A network

    func networkIsAwaited() {
      state.isWaitingForNetwork = true
      request.onConnectivity?(.waiting)
    }

    /// Reports the end of a wait, which URLSession does not: a response or an end shows it.
    private func networkCame() {
      guard state.isWaitingForNetwork else { return }
      state.isWaitingForNetwork = false
      request.onConnectivity?(.available)
    }

    // MARK: A challenge

    func answer(
      _ challenge: URLAuthenticationChallenge,
      _ completionHandler:
        @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      guard let challengeHandler else { return completionHandler(.performDefaultHandling, nil) }
      Task {
        let (disposition, credential) = await challengeHandler(challenge)
        completionHandler(disposition, credential)
      }
    }
  }

  extension HeaderFields {
    /// Creates fields sorted by name: URLSession keeps neither their order nor their repetitions.
    fileprivate init(_ response: HTTPURLResponse) {
      let fields = response.allHeaderFields.compactMap { name, value in
        (name as? String).flatMap { name in (value as? String).map { (name, $0) } }
      }
      self.init(fields.sorted { $0.0 < $1.0 })
    }
  }

  extension TransportError {
    /// - Parameter isResting: whether the task was suspended: a timeout is then not the host's.
    static func urlSession(
      _ error: any Error, host: String, beforeHead: Bool, isResting: Bool
    ) -> TransportError {
      let text = (error as? URLError)?.localizedDescription ?? "\(error)"
      let words = String((text.hasSuffix(".") ? text.dropLast() : text[...]).prefix(300))
      let error = error as? URLError
      // CFNetwork's key.
      let systemError = error?.userInfo["_kCFStreamErrorCodeKey"] as? Int32
      switch error?.code {
      case .badURL:
        return TransportError(.badURL, "The URL at \(host) cannot be requested.")
      case .timedOut where isResting: return unread(host)
      case .timedOut:
        return TransportError(.timedOut, "\(host) was silent for too long.")
      case .cannotFindHost:
        return TransportError(.unknownHost, "The host \(host) does not exist.")
      case .cannotConnectToHost where systemError == ECONNREFUSED,
        .networkConnectionLost where systemError == ECONNREFUSED:
        return TransportError(.refused, "\(host) refused the connection.")
      case .networkConnectionLost: return .lost(host, "the other side closed it")
      case .serverCertificateHasBadDate, .serverCertificateUntrusted,
        .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
        return TransportError(.untrusted, "The certificate of \(host) is not trusted: \(words).")
      case .appTransportSecurityRequiresSecureConnection:
        return TransportError(
          .badURL, "App Transport Security allows requests to \(host) only over https.")
      case .badServerResponse, .cannotParseResponse, .cannotDecodeContentData, .cannotDecodeRawData,
        .dataLengthExceedsMaximum, .httpTooManyRedirects:
        return .malformed(host, words)
      case .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
        guard error?.networkUnavailableReason == nil else {
          return TransportError(
            .networkNotAllowed,
            "No request was sent to \(host): this network is metered, or in Low Data Mode.")
        }
        return .unreachable(
          host, "could not be reached: this device has no network", cause: .noNetwork)
      default:
        return beforeHead
          ? .unreachable(host, "could not be reached: \(words)") : .lost(host, words)
      }
    }

    fileprivate static func unread(_ host: String) -> TransportError {
      TransportError(
        .connectionLost,
        "The response of \(host) was not read, and its connection was closed. Request the rest.",
        cause: .unread)
    }
  }
#endif
