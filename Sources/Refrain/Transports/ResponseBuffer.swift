// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// What has arrived of one response, between a library's thread and the task that reads it.
final class ResponseBuffer: Sendable {
  typealias Head = (status: Int, headers: HeaderFields, isDecoded: Bool)

  struct State {
    /// Until the task takes it.
    var head: Head?
    var chunks: [Data] = []
    /// The task, while it waits for the head or the next chunk.
    fileprivate(set) var waiter: CheckedContinuation<Void, Never>?
    /// `CancellationError` if nobody wants the rest.
    var end: Result<Void, any Error>?
    /// Whether the library delivers nothing until a chunk is taken (`TransportExchange.goOn`).
    var isPaused = false

    fileprivate var hasNews: Bool { head != nil || !chunks.isEmpty || end != nil }

    var byteCount: Int { chunks.reduce(0) { $0 + $1.count } }
  }

  private let state = Mutex(State())
  /// As of a moment ago, without the lock, under which the library's thread copies bytes.
  private let hasBytes = Atomic(false)

  /// Whether the response has ended, or nobody waits for it any more.
  var isOver: Bool { state.withLock { $0.end != nil } }
  var isPaused: Bool { state.withLock(\.isPaused) }
  var isEmpty: Bool { !hasBytes.load(ordering: .relaxed) }

  /// Whether the task waits although there are bytes.
  var isHoldingBack: Bool { state.withLock { $0.waiter != nil && !$0.chunks.isEmpty } }

  /// Changes what has arrived, and wakes the task if the closure says so.
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

  func wake() { change { _ in ((), wakes: true) } }

  func receive(_ head: Head) { change { ($0.head = head, wakes: true) } }

  /// Ends the response, after what has arrived; without an error, the response is whole.
  func end(_ error: (any Error)?) {
    change { ($0.end = $0.end ?? error.map { .failure($0) } ?? .success(()), wakes: true) }
  }
}

/// One request and its response, over a library that has a thread of its own.
protocol TransportExchange: AnyObject, Sendable {
  var response: ResponseBuffer { get }
  /// Lets a library deliver more that has to pause while bytes are unread.
  func goOn()
  /// Lets the library close the connection: nobody wants the rest. Called once at most.
  func abandon()
}

extension TransportExchange {
  func head() async throws -> OriginResponse {
    let body = TransportBody(self)
    let head = try await take { state in
      if let head = state.head.take() { return head }
      guard let end = state.end else { return nil }
      try end.get()
      throw CancellationError()
    }
    var response = OriginResponse(status: head.status, headers: head.headers, body: body)
    response.isDecoded = head.isDecoded
    return response
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
            return ((), wakes: state.hasNews)
          }
        }
      }
    } onCancel: {
      stop()
    }
  }

  /// Gives up the rest, also what has arrived. May be called again, and after the end.
  func stop() { end(with: CancellationError()) { $0.end == nil || !$0.chunks.isEmpty } }

  /// Ends the response at once, in place of what is unread.
  func end(with error: any Error, if mayEnd: (ResponseBuffer.State) -> Bool = { $0.end == nil }) {
    let isRunning = response.change { state in
      guard mayEnd(state) else { return (false, wakes: false) }
      let isRunning = state.end == nil
      (state.head, state.chunks, state.end) = (nil, [], .failure(error))
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
