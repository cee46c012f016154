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

    private struct State {
      /// Until the task takes it.
      var head: Head?
      /// What the task takes next, in order. The last one is being filled.
      var chunks: [Data] = []
      /// The bytes of the body received so far.
      var received = 0
      /// The bytes of the body still to arrive; nil if its length is unknown.
      var remaining: Int64?
      /// The task, while it waits for the head or the next chunk.
      var waiter: CheckedContinuation<Void, Never>?
      /// `CancellationError` if nobody wants the rest.
      var end: Result<Void, any Error>?
      /// Whether libcurl waits for a chunk to be taken.
      var isPaused = false
      /// The bytes that the last chunk may hold.
      var limit = 0

      /// Whether the task has anything to take.
      var hasNews: Bool { head != nil || !chunks.isEmpty || end != nil }
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
      upload?.start(
        goOn: { [weak self] in self.map { $0.loop.post(.goOn($0)) } },
        onFailure: { [weak self] error in self?.end(with: error) { $0.end == nil } })
      return try await take { state in
        if let head = state.head.take() { return head }
        guard let end = state.end else { return nil }
        try end.get()
        throw CancellationError()
      }
    }

    /// Returns the next bytes of the body; nil at its end. One caller at a time.
    func next() async throws -> Data? {
      let (bytes, wasPaused) = try await take { state -> (Data?, Bool)? in
        guard !state.chunks.isEmpty else {
          try state.end?.get()
          return state.end.map { _ in (nil, false) }
        }
        defer {
          state.isPaused = false
          hasBytes.store(!state.chunks.isEmpty, ordering: .relaxed)
        }
        return (state.chunks.removeFirst(), state.isPaused)
      }
      if wasPaused { loop.post(.goOn(self)) }
      return bytes
    }

    /// Whether no bytes are available without waiting, as of a moment ago.
    var isEmpty: Bool { !hasBytes.load(ordering: .relaxed) }

    /// Waits until there is something to take. Cancellation stops the exchange.
    private func take<Part: Sendable>(
      _ part: @Sendable (inout State) throws -> Part?
    ) async throws -> Part {
      try await withTaskCancellationHandler {
        while true {
          if let part = try state.withLock({ try part(&$0) }) { return part }
          await withCheckedContinuation { continuation in
            let hasNews = state.withLock { state in
              if !state.hasNews { state.waiter = continuation }
              return state.hasNews
            }
            if hasNews { continuation.resume() }
          }
        }
      } onCancel: {
        stop()
      }
    }

    /// Gives up the rest: the connection is closed, unless all has arrived.
    func stop() {
      // Nobody receives buffered bytes after this.
      end(with: CancellationError()) { $0.end == nil || !$0.chunks.isEmpty }
    }

    private func end(with error: any Error, if mayEnd: (State) -> Bool) {
      let (waiter, isRunning) = state.withLock {
        state -> (CheckedContinuation<Void, Never>?, Bool) in
        guard mayEnd(state) else { return (nil, false) }
        let isRunning = state.end == nil
        (state.head, state.chunks) = (nil, [])
        hasBytes.store(false, ordering: .relaxed)
        state.end = .failure(error)
        return (state.waiter.take(), isRunning)
      }
      upload?.stop()
      waiter?.resume()
      if isRunning { loop.post(.remove(self)) }
    }

    // MARK: For the thread of libcurl

    /// Whether nobody waits for the exchange any more.
    var isOver: Bool { state.withLock { $0.end != nil } }

    func received(_ head: Head) {
      let waiter = state.withLock { state in
        state.head = head
        state.remaining = head.headers.bodyLength
        return state.waiter.take()
      }
      waiter?.resume()
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
        guard let first = state.chunks.first, state.waiter != nil else { return (true, nil) }
        // Another 16 KiB would not fit.
        let isFull = state.chunks.count > 1 || first.count + 16 << 10 > state.limit
        if onlyForFull, !isFull { return (false, nil) }
        return (true, state.waiter.take())
      }
      waiter?.resume()
      return isDone
    }

    /// Ends the exchange with libcurl's result.
    func ended(_ error: TransportError?) {
      let waiter = state.withLock { state in
        if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
        return state.waiter.take()
      }
      upload?.stop()
      waiter?.resume()
    }
  }
#endif
