// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request over URLSession, and its response.
///
/// URLSession's callbacks arrive one at a time, on the session's queue.
final class URLSessionExchange: BodySource {
  typealias Head = (status: Int, headers: HeaderFields)

  let request: OriginRequest
  /// Sent in place of `request`, on behalf of a client.
  let relayed: RelayedUpload?
  let errors: URLSessionErrors
  let challengeHandler: AuthenticationChallengeHandler?
  let queue: OperationQueue
  /// The most unread bytes of a response whose rest can be requested later.
  private let mostUnread: Int
  private let state = Mutex(State())

  #if !canImport(FoundationNetworking)
    private struct MetricsListener: Sendable {
      let hear: @Sendable (URLSessionTaskMetrics) -> Void
    }
    private let metrics = Mutex<MetricsListener?>(nil)
    var onMetrics: (@Sendable (URLSessionTaskMetrics) -> Void)? {
      get { metrics.withLock { $0?.hear } }
      set { metrics.withLock { $0 = newValue.map(MetricsListener.init) } }
    }
  #endif

  private struct State {
    var task: URLSessionTask?
    var isCancelled = false
    var isWaitingForNetwork = false
    var hasHead = false
    /// Whether the rest of the body can be requested later, by its range.
    var isContinuable = false
    var awaitingHead: CheckedContinuation<Head, any Error>?
    var awaitingChunk: CheckedContinuation<Data?, any Error>?
    var chunks = ChunkQueue()
    /// The bytes of the body received, and those announced.
    var received: Int64 = 0
    var announced: Int64?
    /// Whether the body is passed on decoded.
    var isDecoded = false
    /// The announced length of a body that URLSession decodes, before it does.
    var announcedEncoded: Int64?
    /// Whether fewer bytes than that were received.
    var isCutShort = false
    /// How the body ended.
    var end: Result<Void, TransportError>?
  }

  init(
    request: OriginRequest, relayed: RelayedUpload? = nil, queue: OperationQueue,
    challengeHandler: AuthenticationChallengeHandler?, mostUnread: Int
  ) {
    self.mostUnread = mostUnread
    self.request = request
    self.relayed = relayed
    self.queue = queue
    self.challengeHandler = challengeHandler
    errors = URLSessionErrors(host: request.url.host() ?? "")
  }

  // MARK: Whoever asks

  /// Starts the task, and waits for the head of the response.
  ///
  /// - Parameter makeTask: creates the task, on the queue.
  func head(_ makeTask: @Sendable @escaping () -> URLSessionDataTask) async throws -> Head {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLock { state in
          if !state.isCancelled { state.awaitingHead = continuation }
          return state.isCancelled
        }
        if isCancelled { return continuation.resume(throwing: CancellationError()) }
        queue.addOperation { [self] in
          guard !state.withLock(\.isCancelled) else { return }
          let task = makeTask()
          state.withLock { $0.task = task }
          task.resume()
        }
      }
    } onCancel: {
      stop()
    }
  }

  /// Returns the next bytes of the body; nil at its end.
  func next() async throws -> Data? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation {
        (continuation: CheckedContinuation<Data?, any Error>) in
        var goesOn = false
        let outcome = state.withLock { state -> Result<Data?, any Error>? in
          if state.isCancelled { return .failure(CancellationError()) }
          if let chunk = state.chunks.popFirst() {
            goesOn = state.chunks.isResting && state.chunks.byteCount <= ChunkQueue.few
            return .success(chunk)
          }
          if let end = state.end { return end.map { nil }.mapError { $0 } }
          state.awaitingChunk = continuation
          return nil
        }
        if goesOn { queue.addOperation { [self] in adjustFlow() } }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      stop()
    }
  }

  func stop() {
    let (head, chunk) = state.withLock { state in
      state.isCancelled = true
      state.chunks = ChunkQueue()
      defer { (state.awaitingHead, state.awaitingChunk) = (nil, nil) }
      return (state.awaitingHead, state.awaitingChunk)
    }
    head?.resume(throwing: CancellationError())
    chunk?.resume(throwing: CancellationError())
    queue.addOperation { [self] in state.withLock { $0.task }?.cancel() }
  }

  // MARK: What comes, on the queue

  /// - Parameter announced: the length of the body; nil if it is unknown.
  func headCame(_ response: HTTPURLResponse, announced: Int64? = nil) {
    var head: Head = (response.statusCode, HeaderFields(response))
    if relayed != nil, !head.headers.contentCodings.isEmpty {
      // The body is decoded, whatever the request. Clients use a tag for ranges, too.
      head.headers.dropCoding()
      head.headers["ETag"] = nil
    }
    if isDecoded { head.headers.dropCoding() }
    networkCame()
    // A relayed body has to arrive as one.
    let isContinuable =
      relayed == nil && head.status == 206 && Validator(headers: head.headers).ifRange != nil
    let waiter = state.withLock { state in
      state.hasHead = true
      state.announced = announced
      state.isContinuable = isContinuable
      defer { state.awaitingHead = nil }
      return state.awaitingHead
    }
    waiter?.resume(returning: head)
  }

  var hasHead: Bool { state.withLock(\.hasHead) }

  /// Prepares for a body that URLSession decodes.
  ///
  /// - Parameter length: the announced length of the encoded body.
  func expectDecodedBody(announced length: Int64?) {
    state.withLock { state in
      state.isDecoded = true
      state.announcedEncoded = length
    }
  }

  var isDecoded: Bool { state.withLock(\.isDecoded) }

  #if !canImport(FoundationNetworking)
    /// Compares the announced length of an encoded body with the number of bytes received.
    func measured(_ metrics: URLSessionTaskMetrics) {
      let received = metrics.transactionMetrics.last?.countOfResponseBodyBytesReceived ?? 0
      state.withLock { state in
        guard let announced = state.announcedEncoded, received > 0 else { return }
        state.isCutShort = received < announced
      }
      onMetrics?(metrics)
    }
  #endif

  func bytesCame(_ data: Data) {
    guard !data.isEmpty else { return }
    let (waiter, task) = state.withLock {
      state -> (CheckedContinuation<Data?, any Error>?, URLSessionTask?) in
      state.received += Int64(data.count)
      if let waiter = state.awaitingChunk {
        state.awaitingChunk = nil
        return (waiter, nil)
      }
      guard !state.isCancelled, state.end == nil else { return (nil, nil) }
      state.chunks.append(data)
      guard state.isContinuable, state.chunks.byteCount > mostUnread else { return (nil, nil) }
      state.end = .failure(errors.unread())
      return (nil, state.task)
    }
    waiter?.resume(returning: data)
    if let task { return task.cancel() }
    adjustFlow()
  }

  /// Ends the exchange for its callers; the task may still have to be cancelled.
  func end(_ failure: TransportError? = nil) {
    networkCame()
    let host = errors.host
    let (head, chunk, error) = state.withLock { state in
      var failure = failure
      // URLSession does not always notice missing bytes.
      if failure == nil, let announced = state.announced, state.received < announced {
        failure = TransportError(
          .connectionLost,
          "The connection to \(host) broke: \(announced - state.received) bytes are missing.")
      }
      if failure == nil, state.isCutShort {
        failure = TransportError(
          .connectionLost, "The connection to \(host) broke: some of the encoded body is missing.")
      }
      if failure == nil, !state.hasHead {
        failure = TransportError(
          .connectionLost, "\(host) closed the connection without a response.")
      }
      if state.end == nil { state.end = failure.map { .failure($0) } ?? .success(()) }
      defer { (state.awaitingHead, state.awaitingChunk) = (nil, nil) }
      return (state.awaitingHead, state.awaitingChunk, failure)
    }
    if let error {
      head?.resume(throwing: error)
      chunk?.resume(throwing: error)
    } else {
      chunk?.resume(returning: nil)
    }
  }

  func letGoOfTask() { state.withLock { $0.task = nil } }

  func networkIsAwaited() {
    state.withLock { $0.isWaitingForNetwork = true }
    request.onConnectivity?(.waiting)
  }

  /// Reports the end of a wait, which URLSession does not: a response or an end shows it.
  private func networkCame() {
    let wasWaiting = state.withLock { state in
      defer { state.isWaitingForNetwork = false }
      return state.isWaitingForNetwork
    }
    if wasWaiting { request.onConnectivity?(.available) }
  }

  // MARK: Back-pressure

  /// Whether the task was suspended because its bytes are unread.
  var isResting: Bool { state.withLock(\.chunks.isResting) }

  /// On the queue alone, so that suspending and resuming, which are counted, stay balanced.
  private func adjustFlow() {
    #if canImport(FoundationNetworking)
      // Suspending a running task ends the process here: "Fatal error: Received body data, but no
      // transfer in progress". So nothing holds the sender back; the bytes wait in memory.
    #else
      let change = state.withLock { state -> (URLSessionTask, rests: Bool)? in
        guard let task = state.task, !state.isCancelled else { return nil }
        return state.chunks.turn().map { (task, $0) }
      }
      guard let change else { return }
      if change.rests { change.0.suspend() } else { change.0.resume() }
    #endif
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
