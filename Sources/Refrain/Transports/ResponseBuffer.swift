// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// What has arrived of one response, between a library's thread and the reading task.
final class ResponseBuffer: Sendable {
  typealias Head = (status: Int, headers: HeaderFields, isDecoded: Bool)

  struct State {
    /// Until the task takes it.
    var head: Head?
    var chunks: [Data] = []
    /// The task, while it waits.
    fileprivate(set) var waiter: CheckedContinuation<Void, Never>?
    var end: Result<Void, any Error>?
    /// Whether the library delivers nothing until a chunk is taken (`TransportExchange.goOn`).
    var isPaused = false
  }

  private let state = Mutex(State())
  /// Read without the lock, under which the library's thread copies bytes.
  private let hasBytes = Atomic(false)

  var isOver: Bool { state.withLock { $0.end != nil } }
  var isEmpty: Bool { !hasBytes.load(ordering: .relaxed) }

  /// Wakes the task if the closure says so.
  func change<Part: Sendable, Failure: Error>(
    _ body: (inout State) throws(Failure) -> (Part, wakes: Bool)
  ) throws(Failure) -> Part {
    let (part, waiter) = try state.withLock { state throws(Failure) in
      let (part, wakes) = try body(&state)
      hasBytes.store(!state.chunks.isEmpty, ordering: .relaxed)
      return (part, wakes ? state.waiter.take() : nil)
    }
    waiter?.resume()
    return part
  }

  /// Wakes the task for a chunk that is not full.
  func wake() { change { ((), wakes: !$0.chunks.isEmpty) } }

  func receive(_ head: Head) { change { ($0.head = head, wakes: true) } }

  /// Ends the response, after what has arrived; without an error, the response is whole.
  func end(_ error: TransportError?) {
    change { ($0.end = $0.end ?? error.map { .failure($0) } ?? .success(()), wakes: true) }
  }
}

/// One request over a library that has a thread of its own.
protocol TransportExchange: AnyObject, Sendable {
  var response: ResponseBuffer { get }
  func start()
  /// Lets a paused library deliver more.
  func goOn()
  /// Lets the library close the connection. Called once at most.
  func abandon()
}

extension TransportExchange {
  /// Starts the request, and waits for the head.
  func send() async throws -> OriginResponse {
    try Task.checkCancellation()
    let body = TransportBody(self)
    start()
    let head = try await take { state in
      if let head = state.head.take() { return head }
      guard let end = state.end else { return nil }
      try end.get()
      throw CancellationError()
    }
    var received = OriginResponse(status: head.status, headers: head.headers, body: body)
    received.isDecoded = head.isDecoded
    received.hasMore = { [response] in !response.isEmpty }
    return received
  }

  /// Returns the next bytes of the body; nil at its end. One caller at a time.
  func next() async throws -> Data? {
    let (chunk, goesOn) = try await take { state -> (Data?, Bool)? in
      guard !state.chunks.isEmpty else {
        try state.end?.get()
        return state.end.map { _ in (nil, false) }
      }
      defer { state.isPaused = false }
      return (state.chunks.removeFirst(), state.isPaused)
    }
    if goesOn { goOn() }
    return chunk
  }

  /// Returns what the closure takes, once there is something. Cancellation stops the exchange.
  private func take<Part: Sendable>(
    _ part: @Sendable (inout ResponseBuffer.State) throws -> Part?
  ) async throws -> Part {
    try await withTaskCancellationHandler {
      while true {
        if let taken = try response.change({ (try part(&$0), wakes: false) }) { return taken }
        await withCheckedContinuation { continuation in
          response.change { state in
            state.waiter = continuation
            return ((), wakes: state.head != nil || !state.chunks.isEmpty || state.end != nil)
          }
        }
      }
    } onCancel: {
      stop()
    }
  }

  /// Gives up the rest, also what has arrived. May be called again, and after the end.
  func stop() { end(with: CancellationError()) }

  /// Ends the response at once, in place of what is unread; one that has ended only if cancelled.
  func end(with error: any Error) {
    let isRunning = response.change { state in
      let isRunning = state.end == nil
      if isRunning || !state.chunks.isEmpty && error is CancellationError {
        (state.head, state.chunks, state.end) = (nil, [], .failure(error))
      }
      return (isRunning, wakes: true)
    }
    if isRunning { abandon() }
  }
}

/// A response's body as it arrives, and its one iterator. Releasing it gives up the rest.
final class TransportBody: AsyncSequence, AsyncIteratorProtocol, Sendable {
  private let exchange: any TransportExchange

  init(_ exchange: any TransportExchange) { self.exchange = exchange }

  deinit { exchange.stop() }

  func makeAsyncIterator() -> TransportBody { self }

  func next() async throws -> Data? { try await exchange.next() }
}
