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
  let isSurplus: Bool
  /// Responds to a request that cannot be served at once.
  private let respond: Respond
  var context: ChannelHandlerContext?

  var parser = RequestParser()
  var input = ByteBuffer()
  var isReadHeld = false
  var isInputClosed = false
  var isWatchingEndedInput = false
  /// Whether it counts in `ConnectionSetup.endedInputs`.
  var isCountedEndedInput = false
  /// The number of writes by tasks so far.
  var writes: UInt64 = 0

  /// The request that is being answered.
  var answering: Answering?
  var requestNumber: UInt64 = 0
  /// Whether the body of the last request has not ended yet.
  var isReceiving = false
  var bodyWaiter: EventLoopPromise<ByteBuffer?>?
  /// The discarded bytes of a body that no task reads.
  var discarded = 0
  var closesAfterAnswer = false
  var isClosing = false
  /// Whether everything is sent; further bytes from the client are discarded until it ends its
  /// side.
  var isLingering = false
  /// Whether the bytes that wait in the socket unsent are bounded.
  var isSendingBounded = false

  var headBuffer = ByteBuffer()
  var clock: ConnectionClock
  var isProcessing = false
  /// The last resource served at once, with the bytes of its target.
  var recent: (target: ByteBuffer, resource: CachedHit)?
  /// The bytes of the hit's body that the socket has accepted, as counted before its end.
  var acceptedOfHit: Int64 = 0
  /// The last Host that was accepted as the proxy's own.
  var checkedHost: ByteBuffer?
  /// The client's address; of an IPv4 client in that form, also at a socket for IPv6.
  lazy var clientText: String = {
    guard let address = context?.remoteAddress?.ipAddress else { return "?" }
    return NetworkAddress(address)?.mappedIPv4?.text ?? address
  }()
  /// Whether it counts as one of the client's connections.
  private var isCounted = false
  lazy var localText = context?.localAddress?.ipAddress

  struct Answering {
    var task: Task<Void, Never>?
    var started: NIODeadline
    var isHTTP10: Bool
    var keepsAlive: Bool
    var expectsContinue: Bool
    var isChunked = false
    /// The bytes still to be written of the declared length.
    var left: Int64?
    var hasHead = false
  }

  typealias Respond = @Sendable (ClientRequest, ResponseWriter) async -> Void

  /// The most bytes of an unread body that are discarded to keep the connection.
  static let longestDiscard = 64 << 10
  static let boundedSending: SocketOptionValue = 256 << 10

  init(_ setup: ConnectionSetup, isSurplus: Bool, respond: @escaping Respond) {
    (self.setup, self.isSurplus, self.respond) = (setup, isSurplus, respond)
    clock = ConnectionClock(setup.settings)
  }

  // MARK: Coming and going

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    headBuffer = context.channel.allocator.buffer(capacity: 1024)
    if context.channel.isActive { begin(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    begin(context)
    context.fireChannelActive()
  }

  func begin(_ context: ChannelHandlerContext) {
    guard !clock.isRunning else { return }
    if isSurplus {
      return refuse(HTTPError(503, "The proxy has too many connections. Try again in a moment."))
    }
    if let gate = setup.clients?.gate {
      if let refusal = gate.enter(clientText) { return refuse(refusal) }
      isCounted = true
    }
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    // Ends with the connection, which stops the clock.
    clock.start(on: context.eventLoop) { bound.value.tick() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    end()
    self.context = nil
  }

  func end() {
    if isCounted {
      isCounted = false
      setup.clients?.gate?.leave(clientText)
    }
    isClosing = true
    clock.stop()
    answering?.task?.cancel()
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
      if isLingering { context.close(promise: nil) } else { process() }
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
  var wantsInput: Bool {
    if isClosing { return isLingering }
    return answering == nil || (isReceiving && bodyWaiter != nil)
  }

  func resumeReading() {
    guard isReadHeld, wantsInput else { return }
    isReadHeld = false
    context?.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isClosing else { return }
    var bytes = unwrapInboundIn(data)
    clock.noteInput()
    if input.readableBytes == 0 {
      input = bytes
    } else {
      input.writeBuffer(&bytes)
    }
    process()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
  }

  /// Processes the received bytes as far as possible now.
  func process() {
    // A response written at once calls this again.
    guard !isProcessing else { return }
    isProcessing = true
    defer { isProcessing = false }
    while !isClosing {
      if answering != nil, !isReceiving || bodyWaiter == nil { break }
      do throws(HTTPError) {
        guard let event = try parser.next(&input) else { break }
        switch event {
        case .head(let head):
          isReceiving = true
          discarded = 0
          receive(head)
        case .body(let bytes): receive(bytes)
        case .end: receiveEnd()
        }
      } catch {
        if answering?.hasHead == false, bodyWaiter != nil {
          // The task that reads the body responds; the request after it cannot be found.
          closesAfterAnswer = true
          failBodyWaiter(error)
          break
        }
        refuse(error)
      }
    }
    guard !isClosing else { return }
    clock.note(isAtStart: parser.isAtStart && answering == nil, isAnswering: answering != nil)
    if isInputClosed { inputEnded() }
    resumeReading()
  }

  /// A client may end its side and still wait for answers (RFC 9112 §9.6).
  func inputEnded() {
    failBodyWaiter(ClientDisconnected())
    guard answering != nil else { return close() }
    // Requests received behind this one are still served.
    if input.readableBytes == 0 { closesAfterAnswer = true }
    watchEndedInput()
  }

  func failBodyWaiter(_ error: any Error) {
    let waiter = takeBodyWaiter()
    waiter?.fail(error)
  }

  func takeBodyWaiter() -> EventLoopPromise<ByteBuffer?>? {
    defer { bodyWaiter = nil }
    clock.noteAwaitsBody(false)
    return bodyWaiter
  }

  func receive(_ bytes: ByteBuffer) {
    if let waiter = takeBodyWaiter() { return waiter.succeed(bytes) }
    discarded += bytes.readableBytes
    if discarded > Self.longestDiscard { close() }
  }

  func receiveEnd() {
    isReceiving = false
    let waiter = takeBodyWaiter()
    waiter?.succeed(nil)
  }

  // MARK: Requests

  func receive(_ head: RequestHead) {
    if head.framing == .none { settleEnd() }
    clock.noteRequest()
    requestNumber += 1
    let started = NIODeadline.now()
    answering = Answering(
      started: started, isHTTP10: head.minorVersion == 0, keepsAlive: head.keepsAlive,
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

  /// Ends a request without a body together with its head.
  func settleEnd() {
    // Errors in the bytes behind it are reported when those are read.
    if case .end? = try? parser.next(&input) { isReceiving = false }
  }
}
