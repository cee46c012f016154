// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import Refrain

/// One client's connection: takes its requests one after the other, serves cached resources at
/// once, and passes other requests to a task. Lives on its event loop.
final class ProxyConnection: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = Never
  typealias OutboundIn = Never
  typealias OutboundOut = IOData

  let setup: ConnectionSetup
  /// Whether it exceeds the limit, and is refused.
  private let isSurplus: Bool
  /// Responds to a request that cannot be served at once.
  private let respond: Respond
  var context: ChannelHandlerContext?

  var phase = Phase.open
  /// The request that is being answered.
  var answering: Answering?
  private var requestNumber: UInt64 = 0
  /// The body of the last request.
  var body = RequestBody.ended
  private(set) var parser = RequestParser()
  var input = ByteBuffer()
  private var isReadHeld = false
  private(set) var isInputClosed = false
  private var isProcessing = false

  /// The number of writes and requests so far.
  var writes: UInt64 = 0
  /// Whether the bytes that wait in the socket unsent are bounded.
  var isSendingBounded = false
  var headBuffer = ByteBuffer()
  /// The last resource served at once, with the bytes of its target.
  var recent: (target: ByteBuffer, resource: CachedHit)?
  /// The last Host that was accepted as the proxy's own.
  var checkedHost: ByteBuffer?

  /// Looks at the times of the connection. A timer for each request would cost more than the request.
  var clock: RepeatedTask?
  /// The time since which the client, or what it asked for, is waited for.
  var since = NIODeadline.now()
  /// The bytes that waited to be sent when the clock last ticked.
  var pendingBytes = 0
  var endedInput: EndedInput?

  /// The client's address; of an IPv4 client in that form, also at a socket for IPv6.
  lazy var clientText: String = {
    guard let address = context?.remoteAddress?.ipAddress else { return "?" }
    return NetworkAddress(address)?.mappedIPv4?.text ?? address
  }()
  lazy var localText = context?.localAddress?.ipAddress
  /// Whether it counts as one of the client's connections.
  private var isCounted = false

  enum Phase: Comparable {
    case open
    /// Closes after the response under way, or after the next one.
    case lastResponse
    case closing
    /// Everything is sent; further bytes from the client are discarded until it ends its side.
    case lingering
  }

  struct Answering {
    var task: Task<Void, Never>?
    var isHTTP10: Bool
    var keepsAlive: Bool
    var expectsContinue: Bool
    /// How the response goes on; nil until its head is written.
    var framing: Framing?
  }

  enum Framing {
    /// So many bytes of the declared length are still to be written.
    case length(left: Int64)
    case chunked
    /// Up to the end of the connection.
    case toEnd
  }

  enum RequestBody {
    /// All of it has been received.
    case ended
    /// No task reads it now. Of a request that has been answered, so many bytes were discarded.
    case unread(discarded: Int)
    /// A task waits for more of it.
    case awaited(EventLoopPromise<ByteBuffer?>, since: NIODeadline)
  }

  typealias Respond = @Sendable (ClientRequest, ResponseWriter) async -> Void

  /// The most bytes of an unread body that are discarded to keep the connection.
  private static let longestDiscard = 64 << 10

  init(_ setup: ConnectionSetup, isSurplus: Bool, respond: @escaping Respond) {
    (self.setup, self.isSurplus, self.respond) = (setup, isSurplus, respond)
  }

  // MARK: Coming and going

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    headBuffer = context.channel.allocator.buffer(capacity: 1024)
    if context.channel.isActive { begin() }
  }

  func channelActive(context: ChannelHandlerContext) {
    begin()
    context.fireChannelActive()
  }

  private func begin() {
    guard clock == nil else { return }
    if isSurplus {
      return refuse(HTTPError(503, "The proxy has too many connections. Try again in a moment."))
    }
    if let gate = setup.clients?.gate {
      if let refusal = gate.enter(clientText) { return refuse(refusal) }
      isCounted = true
    }
    since = .now()
    startClock()
  }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    end()
    self.context = nil
  }

  private func end() {
    if isCounted {
      isCounted = false
      setup.clients?.gate?.leave(clientText)
    }
    beginClosing()
    failBodyWaiter(ClientDisconnected())
    recent = nil
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The connection broke: its end is reported to the task that writes to it.
    context.close(promise: nil)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed {
      isInputClosed = true
      if phase == .lingering { context.close(promise: nil) } else { process() }
    } else {
      context.fireUserInboundEventTriggered(event)
    }
  }

  // MARK: Reading

  func read(context: ChannelHandlerContext) {
    if wantsInput {
      context.read()
    } else {
      isReadHeld = true
    }
  }

  /// Whether to read on. While a request is being answered, further bytes wait in the socket.
  private var wantsInput: Bool {
    isClosing ? phase == .lingering : answering == nil || isBodyAwaited
  }

  func resumeReading() {
    guard isReadHeld, wantsInput else { return }
    isReadHeld = false
    context?.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isClosing else { return }
    var bytes = unwrapInboundIn(data)
    // The time for a head counts from its first byte on, however slowly the rest arrives.
    if answering == nil, parser.isAtStart { since = .now() }
    if input.readableBytes == 0 {
      input = bytes
    } else {
      input.writeBuffer(&bytes)
    }
    process()
  }

  /// Processes the received bytes as far as possible now.
  func process() {
    // A response written at once calls this again.
    guard !isProcessing else { return }
    isProcessing = true
    defer { isProcessing = false }
    while !isClosing, answering == nil || isBodyAwaited {
      do throws(HTTPError) {
        guard let event = try parser.next(&input) else { break }
        switch event {
        case .head(let head): receive(head)
        case .body(let bytes): receive(bytes)
        case .end:
          let waiter = takeBodyWaiter()
          body = .ended
          waiter?.succeed(nil)
        }
      } catch {
        if !hasWrittenHead, isBodyAwaited {
          // The task that reads the body responds; the request after it cannot be found.
          closeAfterResponse()
          failBodyWaiter(error)
          break
        }
        refuse(error)
      }
    }
    guard !isClosing else { return }
    if isInputClosed { inputEnded() }
    resumeReading()
  }

  // MARK: The body

  private var isBodyAwaited: Bool {
    if case .awaited = body { true } else { false }
  }

  /// Returns the next part of the request's body; nil at its end.
  func nextBodyPart() -> EventLoopFuture<ByteBuffer?>? {
    guard let context, !isClosing, let answering else { return nil }
    switch body {
    case .ended: return context.eventLoop.makeSucceededFuture(nil)
    case .awaited: return nil
    case .unread: break
    }
    if answering.expectsContinue, !hasWrittenHead, input.readableBytes == 0 {
      self.answering?.expectsContinue = false
      context.writeAndFlush(
        wrapOutboundOut(.byteBuffer(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n"))),
        promise: nil)
    }
    let promise = context.eventLoop.makePromise(of: ByteBuffer?.self)
    body = .awaited(promise, since: .now())
    process()
    return promise.futureResult
  }

  private func receive(_ bytes: ByteBuffer) {
    if let waiter = takeBodyWaiter() { return waiter.succeed(bytes) }
    guard case .unread(let discarded) = body else { return }
    body = .unread(discarded: discarded + bytes.readableBytes)
    if discarded + bytes.readableBytes > Self.longestDiscard { close() }
  }

  func failBodyWaiter(_ error: any Error) {
    let waiter = takeBodyWaiter()
    waiter?.fail(error)
  }

  private func takeBodyWaiter() -> EventLoopPromise<ByteBuffer?>? {
    guard case .awaited(let waiter, _) = body else { return nil }
    body = .unread(discarded: 0)
    return waiter
  }

  // MARK: Requests

  private func receive(_ head: RequestHead) {
    body = head.hasBody ? .unread(discarded: 0) : .ended
    let started = NIODeadline.now()
    since = started
    requestNumber += 1
    // A client that has ended its side waits from here on (`EndedInput`).
    writes += 1
    answering = Answering(
      isHTTP10: head.minorVersion == 0, keepsAlive: head.keepsAlive,
      expectsContinue: head.expectsContinue)
    let gate = setup.clients?.gate(for: head)
    let refusal = gate?.admit(clientText)
    if refusal == nil, answerAtOnce(head, started) { return }
    guard let context else { return }
    let request = ClientRequest(
      head: head, client: clientText, localAddress: localText, started: started, refusal: refusal)
    let writer = ResponseWriter(
      connection: NIOLoopBound(self, eventLoop: context.eventLoop),
      eventLoop: context.eventLoop, number: requestNumber,
      sendsFiles: setup.settings.sendsFiles, pace: gate?.pace(of: clientText))
    setup.noteResponders(1)
    answering?.task = Task { [respond, setup] in
      await respond(request, writer)
      setup.noteResponders(-1)
    }
  }

  func isAnswering(_ number: UInt64) -> Bool { answering != nil && requestNumber == number }

  /// Goes on to the next request, once a response is over.
  ///
  /// - Parameter isSent: whether the socket has accepted all of it. No further request is served for a
  ///   client that is gone.
  func finished(isSent: Bool) {
    answering = nil
    // A task that still reads the body has already responded.
    failBodyWaiter(ClientDisconnected())
    since = .now()
    guard isSent, phase == .open else { return close() }
    process()
  }
}
