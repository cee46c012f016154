// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import Refrain
import RefrainLocks

/// One client's connection: takes its requests one after the other, serves cached resources at
/// once, and passes other requests to a task. Lives on its event loop, as the only handler of its
/// pipeline.
final class ProxyConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = IOData

  let setup: ConnectionSetup
  private let isSurplus: Bool
  var context: ChannelHandlerContext?
  /// May be written to while nothing waits in the channel.
  private(set) var socket: CInt?

  var phase = Phase.open
  var answering: Answering?
  /// The body of the last request.
  var body = RequestBody.ended
  private(set) var parser = RequestParser()
  var input = ByteBuffer()
  private var isProcessing = false
  private var requestCount: UInt64 = 0

  var headBuffer = ByteBufferAllocator().buffer(capacity: 1024)
  /// The file that is being sent, and the end of the part that waits in the channel.
  var sending: (file: EntryFile, end: Int64)?
  /// The last resource served at once, while it is held open, and the bytes of its target.
  weak var recent: CachedHit?
  var recentTarget = ByteBuffer()
  /// The last Host that was accepted as the proxy's own.
  var checkedHost: ByteBuffer?

  /// Checks the timeouts: a timer for each request would cost more than the request.
  var clock: RepeatedTask?
  /// The time since which the client is waited for: to send a request, or to accept something.
  var since = NIODeadline.now()
  /// The bytes that waited to be sent when the clock last ticked.
  var pendingBytes = 0

  /// The client's address; of an IPv4 client in that form, also at a socket for IPv6.
  lazy var clientText: String = {
    guard let address = context?.remoteAddress?.ipAddress else { return "?" }
    return NetworkAddress(host: address)?.mappedIPv4?.text ?? address
  }()
  lazy var localText = context?.localAddress?.ipAddress
  private var isCounted = false

  enum Phase: Comparable {
    case open
    /// Closes after the response under way, or after the next one.
    case lastResponse
    /// What is written is still sent; further bytes from the client are discarded.
    case closing
  }

  struct Answering {
    let number: UInt64
    var task: Task<Void, Never>?
    let isHTTP10: Bool
    let keepsAlive: Bool
    var expectsContinue: Bool
    /// Nil until the head is written.
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
    case ended
    /// No task reads it now. Of a request that has been answered, so many bytes were discarded.
    case unread(discarded: Int)
    case awaited(EventLoopPromise<ByteBuffer?>, since: NIODeadline)
  }

  /// The most bytes of an unread body that are discarded to keep the connection.
  private static let longestDiscard = 64 << 10

  init(_ setup: ConnectionSetup, _ isSurplus: Bool) {
    (self.setup, self.isSurplus) = (setup, isSurplus)
  }

  // MARK: Coming and going

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func channelActive(context: ChannelHandlerContext) {
    if isSurplus {
      return refuse(HTTPError(503, "The proxy has too many connections. Try again in a moment."))
    }
    if let gate = setup.front?.gate {
      if let refusal = gate.enter(clientText) { return refuse(refusal) }
      isCounted = true
    }
    socket = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable { $0 }
    // Bytes that the client does not accept are better left at the origin than in the socket (tcp(7)).
    try? context.channel.syncOptions?.setOption(
      .tcpOption(.init(rawValue: CInt(TCP_NOTSENT_LOWAT))), value: 512 << 10)
    since = .now()
    startClock()
    resumeReading()
  }

  func channelInactive(context: ChannelHandlerContext) {
    if isCounted { setup.front?.gate?.leave(clientText) }
    beginClosing()
    failBodyWaiter(ClientDisconnected())
  }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The task that writes learns of the connection's end.
    context.close(promise: nil)
  }

  // MARK: Reading

  /// The channel does not read by itself: until this is called, further bytes wait in the socket.
  func resumeReading() {
    if isClosing || answering == nil || isBodyAwaited { context?.read() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isClosing else { return resumeReading() }
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
        }
      } catch {
        refuse(error)
      }
    }
    // The channel reads into the same memory again, unless a request that is being answered keeps it.
    if input.readableBytes == 0 { input = ByteBuffer() }
    if !isClosing { resumeReading() }
  }

  // MARK: The body

  private var isBodyAwaited: Bool { if case .awaited = body { true } else { false } }

  func nextBodyPart() -> EventLoopFuture<ByteBuffer?>? {
    guard let context, !isClosing, let answering else { return nil }
    switch body {
    case .ended: return context.eventLoop.makeSucceededFuture(nil)
    case .awaited: return nil
    case .unread: break
    }
    if answering.expectsContinue, !hasWrittenHead {
      self.answering?.expectsContinue = false
      // A client that has sent some of the body does not wait.
      if input.readableBytes == 0 {
        context.writeAndFlush(
          wrapOutboundOut(.byteBuffer(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n"))),
          promise: nil)
      }
    }
    let promise = context.eventLoop.makePromise(of: ByteBuffer?.self)
    body = .awaited(promise, since: .now())
    process()
    return promise.futureResult
  }

  private func receive(_ bytes: ByteBuffer?) {
    let waiter = takeBodyWaiter()
    if bytes == nil { body = .ended }
    if let waiter { return waiter.succeed(bytes) }
    guard let bytes, case .unread(let before) = body else { return }
    let discarded = before + bytes.readableBytes
    body = .unread(discarded: discarded)
    if discarded > Self.longestDiscard { close() }
  }

  func failBodyWaiter(_ error: any Error) { takeBodyWaiter()?.fail(error) }

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
    requestCount += 1
    let number = requestCount
    answering = Answering(
      number: number, isHTTP10: head.minorVersion == 0, keepsAlive: head.keepsAlive,
      expectsContinue: head.expectsContinue)
    // A balancer's request has no limits.
    let gate = setup.front?.isOpen(to: head) == true ? nil : setup.front?.gate
    let refusal = gate?.admit(clientText)
    if refusal == nil, gate?.longestPiece == nil, answerAtOnce(head, started) { return }
    guard let context else { return }
    let request = ClientRequest(
      head: head, client: clientText, localAddress: localText, started: started, refusal: refusal)
    let delivery = Delivery(
      setup, request, on: NIOLoopBound(self, eventLoop: context.eventLoop), number: number,
      gate: gate)
    setup.responders.add(1, ordering: .acquiringAndReleasing)
    answering?.task = Task { [setup] in
      await setup.respond(delivery)
      setup.responders.subtract(1, ordering: .acquiringAndReleasing)
    }
  }

  func isAnswering(_ number: UInt64) -> Bool { answering?.number == number }

  /// Unless the socket has accepted all of it, the client is gone: no further request is served.
  func finished(isSent: Bool) {
    answering = nil
    // A task that still reads the body has already responded.
    failBodyWaiter(ClientDisconnected())
    since = .now()
    guard isSent, phase == .open else { return close() }
    process()
  }
}

/// What the connections of one listener have in common.
final class ConnectionSetup: Sendable {
  let settings: ConnectionSettings
  let service: ProxyService
  /// Nil for the operator's connections: no limits, figures or log, and no response at once.
  let front: FrontHandlers?
  /// Called for a request that cannot be served at once.
  let respond: @Sendable (Delivery) async -> Void
  let responders = Atomic(0)

  init(
    _ settings: ConnectionSettings, _ service: ProxyService, _ front: FrontHandlers?,
    respond: @escaping @Sendable (Delivery) async -> Void
  ) {
    (self.settings, self.service, self.front) = (settings, service, front)
    self.respond = respond
  }

  /// The operator's connections stay open while the proxy drains.
  var isEnding: Bool { front == nil ? service.isStopping : service.isEnding }
}

struct ConnectionSettings: Sendable {
  var headTimeout: Duration
  var idleTimeout: Duration
  var sendTimeout: Duration
  var lastRequestTimeout: Duration
  /// Whether the socket is somebody else's, who keeps it for the next process.
  var isSocketGiven: Bool
  var sendsFiles: Bool
}
