// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks

  /// One request and its response, between the task that waits for it and the thread of libcurl,
  /// which sends and receives.
  ///
  /// The body's bytes are buffered here, in chunks, until the task takes them. Once the chunks are
  /// full, libcurl stops reading from the connection until one of them is taken.
  final class CurlExchange: BodySource {
    typealias Head = CurlHeadReader.Head

    let request: RelayedRequest
    let upload: CurlUpload?
    private let loop: CurlLoop
    private let state = Mutex(State())
    /// Whether there are `chunks`, as of a moment ago. Asked for each chunk while libcurl's thread
    /// copies the next ones under the lock.
    private let hasBytes = Atomic(false)

    fileprivate struct State {
      var head: Head?
      var headWaiter: CheckedContinuation<Head, any Error>?
      /// What the task takes next, in order. The last one is being filled.
      var chunks: [Data] = []
      /// The bytes of the body received so far.
      var received = 0
      /// The bytes of the body still to arrive; nil if its length is unknown.
      var remaining: Int64?
      var bodyWaiter: CheckedContinuation<Void, Never>?
      var end: End?
      /// Whether libcurl waits for a chunk to be taken.
      var isPaused = false
      /// The bytes that the last chunk may hold.
      var limit = 0
    }

    fileprivate enum End {
      case whole
      case failed(any Error)
      /// Nobody wants the rest.
      case stopped
    }

    init(_ request: RelayedRequest, on loop: CurlLoop) {
      self.request = request
      self.loop = loop
      upload = request.body.map { CurlUpload($0) }
      loop.exchanges.add(1, ordering: .relaxed)
    }

    deinit { loop.exchanges.subtract(1, ordering: .relaxed) }

    // MARK: For the task that waits

    /// Sends the request and waits for the head of the response.
    ///
    /// - Throws: `TransportError`; `CancellationError` if the task is cancelled.
    func send() async throws -> Head {
      try Task.checkCancellation()
      loop.post(.begin(self))
      if let upload {
        upload.start(
          goOn: { [weak self] in self.map { $0.loop.post(.goOn($0)) } },
          onFailure: { [weak self] error in self?.uploadFailed(error) })
      }
      let head = try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let outcome = state.withLock { state -> Result<Head, any Error>? in
            if let outcome = state.outcome { return outcome }
            state.headWaiter = continuation
            return nil
          }
          if let outcome { continuation.resume(with: outcome) }
        }
      } onCancel: {
        stop()
      }
      // Through the lock: a continuation that is resumed before its task waits orders nothing that the
      // thread sanitizer could see.
      return state.withLock(\.head) ?? head
    }

    /// Returns the next bytes of the body; nil at its end. One caller at a time.
    func next() async throws -> Data? {
      try await withTaskCancellationHandler {
        while true {
          let step = state.withLock { state in
            defer { hasBytes.store(!state.chunks.isEmpty, ordering: .relaxed) }
            return state.take()
          }
          switch step {
          case .bytes(let bytes, let wasPaused):
            if wasPaused { loop.post(.goOn(self)) }
            return bytes
          case .end(.whole): return nil
          case .end(.failed(let error)): throw error
          case .end(.stopped): throw CancellationError()
          case .wait: await wait()
          }
        }
      } onCancel: {
        stop()
      }
    }

    /// Whether no bytes are available without waiting, as of a moment ago.
    var isEmpty: Bool { !hasBytes.load(ordering: .relaxed) }

    private func wait() async {
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if !state.chunks.isEmpty || state.end != nil { return true }
          state.bodyWaiter = continuation
          return false
        }
        if isThere { continuation.resume() }
      }
    }

    /// Gives up the rest: the connection is closed, unless all has arrived.
    func stop() {
      // Nobody receives buffered bytes after this.
      end(.stopped) { $0.end == nil || !$0.chunks.isEmpty }
    }

    /// Ends the exchange when the request's body fails.
    private func uploadFailed(_ error: any Error) {
      end(.failed(error)) { $0.end == nil }
    }

    private func end(_ end: End, if mayEnd: (State) -> Bool) {
      let (waiters, isRunning) = state.withLock { state -> (Waiters?, Bool) in
        guard mayEnd(state) else { return (nil, false) }
        let isRunning = state.end == nil
        state.chunks = []
        hasBytes.store(false, ordering: .relaxed)
        state.end = end
        return (state.takeWaiters(), isRunning)
      }
      upload?.stop()
      waiters?.resume()
      if isRunning { loop.post(.remove(self)) }
    }

    // MARK: For the thread of libcurl

    /// Whether nobody waits for the exchange any more.
    var isOver: Bool { state.withLock { $0.end != nil } }

    func received(_ head: Head) {
      let waiter = state.withLock { state in
        state.head = head
        state.remaining = head.headers.bodyLength
        return state.headWaiter.take()
      }
      waiter?.resume(returning: head)
      // After a response that precedes the end of the request's body, libcurl stops sending it, but
      // would wait forever for its next part.
      if upload != nil { loop.post(.goOn(self)) }
    }

    /// - Returns: whether the bytes were taken; if not, they must be passed again after `goOn`.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
      state.withLock { state in
        // Bytes after the stop are discarded until the thread learns of it.
        guard state.end == nil, !bytes.isEmpty else { return true }
        let last = state.chunks.indices.last
        if let last, state.chunks[last].count + bytes.count <= state.limit {
          state.chunks[last].append(contentsOf: bytes)
        } else {
          let limits = Limits(exchanges: loop.exchanges.load(ordering: .relaxed))
          guard state.chunks.count < (state.received < Self.beginning ? 1 : limits.chunks) else {
            state.isPaused = true
            return false
          }
          state.limit = limits.bytes
          let most = max(state.limit, bytes.count)
          var chunk = Data()
          chunk.reserveCapacity(
            state.remaining.map { Int(clamping: min($0, Int64(most))) } ?? most)
          chunk.append(contentsOf: bytes)
          state.chunks.append(chunk)
        }
        hasBytes.store(true, ordering: .relaxed)
        state.received += bytes.count
        state.remaining? -= Int64(bytes.count)
        return true
      }
    }

    /// Before this many bytes, the reader may well seek, and buffered bytes would be wasted.
    private static let beginning = 512 << 10

    /// How much an exchange buffers. A killed process loses what was passed on but is not stored yet:
    /// 64 KiB that precede an entry's first record, and a chunk of each exchange. Five exchanges that
    /// start at the worst moments stay below 256 KiB.
    struct Limits: Hashable {
      /// The number of chunks. While the task stores one, another is filled: where exchanges are few,
      /// libcurl need not stop then, and be woken, for each chunk.
      var chunks: Int
      /// The bytes of a chunk. libcurl passes on at most 16 KiB at once (`CURL_MAX_WRITE_SIZE`), and
      /// an exchange must be able to take them.
      var bytes: Int

      init(exchanges: Int) {
        chunks = exchanges > 2 ? 1 : 2
        bytes = max(16 << 10, min(64 << 10, (96 << 10) / max(1, exchanges)))
      }
    }

    /// Wakes the waiting reader.
    ///
    /// - Parameter onlyForFull: whether it goes on waiting for as long as more fits into its chunk.
    /// - Returns: false if it goes on waiting although there are bytes.
    func wakeReader(onlyForFull: Bool) -> Bool {
      let (isDone, waiter) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
        guard let first = state.chunks.first, state.bodyWaiter != nil else { return (true, nil) }
        // Another 16 KiB would not fit.
        let isFull = state.chunks.count > 1 || first.count + 16 << 10 > state.limit
        if onlyForFull, !isFull { return (false, nil) }
        return (true, state.bodyWaiter.take())
      }
      waiter?.resume()
      return isDone
    }

    /// Ends the exchange with libcurl's result.
    func ended(_ error: TransportError?) {
      let waiters = state.withLock { state in
        if state.end == nil { state.end = error.map { .failed($0) } ?? .whole }
        return state.takeWaiters()
      }
      upload?.stop()
      waiters.resume()
    }

    // MARK: Its state

    fileprivate struct Waiters {
      var head: CheckedContinuation<Head, any Error>?
      var headOutcome: Result<Head, any Error>?
      var body: CheckedContinuation<Void, Never>?

      func resume() {
        if let headOutcome { head?.resume(with: headOutcome) }
        body?.resume()
      }
    }
  }

  extension CurlExchange.State {
    fileprivate enum Step {
      case bytes(Data, wasPaused: Bool)
      case end(CurlExchange.End)
      case wait
    }

    fileprivate mutating func take() -> Step {
      if !chunks.isEmpty {
        defer { isPaused = false }
        return .bytes(chunks.removeFirst(), wasPaused: isPaused)
      }
      return end.map { .end($0) } ?? .wait
    }

    /// The outcome of `send`; nil while it waits.
    fileprivate var outcome: Result<CurlExchange.Head, any Error>? {
      switch end {
      case .stopped?: .failure(CancellationError())
      case .failed(let error)? where head == nil: .failure(error)
      default: head.map { .success($0) }
      }
    }

    fileprivate mutating func takeWaiters() -> CurlExchange.Waiters {
      CurlExchange.Waiters(
        head: headWaiter.take(), headOutcome: outcome, body: bodyWaiter.take())
    }
  }
#endif
