// SPDX-License-Identifier: MIT
internal import Foundation
internal import NIOCore
internal import NIOPosix

#if canImport(Darwin)
  import Darwin
#endif

/// One response being sent. Lives on the connection's event loop.
final class Sending {
  private enum Phase {
    case ready, held, ended
  }

  let path: String

  private let answer: Answer
  private let served: OriginState.Served
  private let state: OriginState
  private let context: ChannelHandlerContext
  private let whenDone: () -> Void
  private var cursor: BodyCursor
  private var phase = Phase.ready
  private var timer: Scheduled<Void>?
  private var afterHold: (() -> Void)?
  private var pace: Pace?

  init(
    _ answer: Answer, _ served: OriginState.Served, _ state: OriginState,
    _ context: ChannelHandlerContext, whenDone: @escaping () -> Void
  ) {
    self.answer = answer
    self.served = served
    self.state = state
    self.context = context
    self.whenDone = whenDone
    path = served.path
    cursor = BodyCursor(answer)
  }

  func start() { delay(answer.delays[...]) }

  private func delay(_ delays: ArraySlice<Duration?>) {
    guard let first = delays.first else { return sendHead() }
    stall(first) { [unowned self] in delay(delays.dropFirst()) }
  }

  private func sendHead() {
    if let raw = answer.raw {
      context.write(data(raw), promise: nil)
      return close(reset: false)
    }
    context.write(data(answer.head), promise: nil)
    state.note(served.path, served.id) { [status = answer.status] log, request in
      if let request { log.requests[request].status = status }
    }
    proceed()
  }

  /// Writes until the channel is full, the script pauses or ends it, or everything is written.
  func proceed() {
    while phase == .ready, context.channel.isWritable {
      switch cursor.next(limit: pace?.chunk ?? .max, context.channel.allocator) {
      case .send(let chunk):
        send(chunk)
        if pace != nil { waitForPace(chunk.length) }
      case .rate(let rate): pace = rate.map { Pace(bytesPerSecond: $0) }
      case .stall(let duration): stall(duration) { [unowned self] in proceed() }
      case .drop(let reset): close(reset: reset)
      case .end: end()
      }
    }
    if phase == .ready { context.flush() }
  }

  /// Ends the response: the connection is gone.
  func cancel() {
    timer?.cancel()
    if afterHold != nil { noteStalled(-1) }
    afterHold = nil
    phase = .ended
    state.note(served.path, served.id) { log, request in
      if let request, log.requests[request].outcome == .sending {
        log.requests[request].outcome = .abandoned
      }
    }
  }

  // MARK: Waiting

  /// Ends a stall without a duration.
  func release() { if timer == nil { resume() } }

  private func stall(_ duration: Duration?, then: @escaping () -> Void) {
    phase = .held
    context.flush()
    guard phase == .held else { return }
    afterHold = then
    noteStalled(1)
    if let duration { schedule(.nanoseconds(duration.nanoseconds)) { $0.resume() } }
  }

  private func resume() {
    guard let then = afterHold else { return }
    timer = nil
    afterHold = nil
    noteStalled(-1)
    phase = .ready
    then()
  }

  private func waitForPace(_ bytes: Int64) {
    guard let wait = pace?.sent(bytes), wait > .nanoseconds(0) else { return }
    phase = .held
    context.flush()
    guard phase == .held else { return }
    schedule(wait) {
      $0.timer = nil
      $0.phase = .ready
      $0.proceed()
    }
  }

  private func schedule(_ time: TimeAmount, _ body: @escaping (Sending) -> Void) {
    let work = NIOLoopBound((self, body), eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: time) {
      let (sending, body) = work.value
      if sending.phase == .held { body(sending) }
    }
  }

  private func noteStalled(_ change: Int) {
    state.note(served.path, served.id) { log, _ in log.stalled += change }
  }

  // MARK: Writing

  private func send(_ chunk: BodyCursor.Chunk) {
    var isChunked = false
    if case .chunked = answer.framing { isChunked = true }
    if isChunked {
      context.write(data("\(String(chunk.length, radix: 16))\r\n".utf8), promise: nil)
    }
    let promise = context.eventLoop.makePromise(of: Void.self)
    promise.futureResult.whenComplete {
      [
        state, path = served.path, id = served.id, generation = answer.generation,
        length = chunk.length, range = chunk.range
      ] result in
      if case .success = result {
        state.sent(path, id, bytes: length, range: range, of: generation)
      }
    }
    context.write(NIOAny(IOData.byteBuffer(chunk.data)), promise: promise)
    if isChunked { context.write(data("\r\n".utf8), promise: nil) }
  }

  private func end() {
    if case .chunked = answer.framing { context.write(data("0\r\n\r\n".utf8), promise: nil) }
    if answer.closes { return close(reset: false) }
    finish { $0.whenDone() }
  }

  /// Closes the connection once the socket has accepted everything written.
  private func close(reset: Bool) {
    finish { sending in
      let channel = sending.context.channel
      guard reset, let options = channel as? any SocketOptionProvider else {
        return sending.context.close(promise: nil)
      }
      // A linger time of 0 makes close(2) send RST; socket(7).
      let close = NIOLoopBound(sending, eventLoop: channel.eventLoop)
      options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in
        close.value.context.close(promise: nil)
      }
    }
  }

  /// Flushes; the response is done when the socket has accepted everything.
  private func finish(_ then: @escaping (Sending) -> Void) {
    phase = .ended
    let promise = context.eventLoop.makePromise(of: Void.self)
    let work = NIOLoopBound((self, then), eventLoop: context.eventLoop)
    promise.futureResult.whenSuccess {
      let (sending, then) = work.value
      sending.state.note(sending.served.path, sending.served.id) { log, request in
        if let request { log.requests[request].outcome = .sent }
      }
      then(sending)
    }
    context.writeAndFlush(data([UInt8]()), promise: promise)
  }

  private func data(_ bytes: some Sequence<UInt8>) -> NIOAny {
    NIOAny(IOData.byteBuffer(ByteBuffer(bytes: bytes)))
  }
}

extension Duration {
  var nanoseconds: Int64 {
    components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
  }
}

/// Keeps an average rate: later writes make up for a late one.
struct Pace {
  /// The size of one write: a twentieth of a second's worth.
  let chunk: Int64

  private let bytesPerSecond: Int64
  private let start = NIODeadline.now()
  private var bytes: Int64 = 0

  init(bytesPerSecond: Int) {
    self.bytesPerSecond = Int64(max(1, bytesPerSecond))
    chunk = max(1, self.bytesPerSecond / 20)
  }

  /// Counts sent bytes, and returns the time to wait before the next write.
  mutating func sent(_ count: Int64) -> TimeAmount {
    bytes += count
    let due = start + .nanoseconds(Int64(Double(bytes) / Double(bytesPerSecond) * 1e9))
    return max(.nanoseconds(0), due - NIODeadline.now())
  }
}
