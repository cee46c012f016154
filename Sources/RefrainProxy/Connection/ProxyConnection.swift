// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import Refrain

/// One client's connection: takes its requests one after the other, answers at once what the cache
/// holds, and hands the others to a task. Lives on its event loop.
final class ProxyConnection: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = Never
  typealias OutboundIn = Never
  typealias OutboundOut = IOData

  let service: ProxyService
  private let rank: ConnectionCount.Rank
  private var context: ChannelHandlerContext?

  private var parser = RequestParser()
  private var input = ByteBuffer()
  private var isReadHeld = false
  private var isInputClosed = false

  /// The request that is being answered.
  private var answering: Answering?
  private var requestNumber: UInt64 = 0
  /// The body of the last request has not come to its end.
  private var isReceiving = false
  private var bodyWaiter: EventLoopPromise<ByteBuffer?>?
  /// Of a body that nobody wants, what was thrown away.
  private var discarded = 0
  private var closesAfterAnswer = false
  private var isClosing = false
  /// All is said; what the client still sends is thrown away until it ends its side.
  private var isLingering = false
  /// What the socket takes ahead of the client is kept small.
  private var isSendingBounded = false

  private var headBuffer = ByteBuffer()
  private var clock = ConnectionClock()
  private var isProcessing = false
  /// The last resource that was answered at once, by the bytes of its target.
  private var recent: (target: ByteBuffer, resource: HotResource)?
  /// The last Host that was found to be ours.
  private var checkedHost: ByteBuffer?
  private lazy var clientText = context?.remoteAddress?.ipAddress ?? "?"
  private lazy var localText = context?.localAddress?.ipAddress

  private struct Answering {
    var task: Task<Void, Never>?
    var isHTTP10: Bool
    var keepsAlive: Bool
    var expectsContinue: Bool
    var isChunked = false
    /// What of the length that was named is still to be written.
    var left: Int64?
    var hasHead = false
  }

  /// So much of a body that nobody wants is read to keep the connection.
  private static let longestDiscard = 64 << 10
  private static let boundedSending: SocketOptionValue = 256 << 10

  init(service: ProxyService, rank: ConnectionCount.Rank) {
    self.service = service
    self.rank = rank
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

  private func begin(_ context: ChannelHandlerContext) {
    guard !clock.isRunning else { return }
    if case .surplus = rank {
      return refuse(Refusal(503, "Too many connections; try again in a moment."))
    }
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    // Ends with the connection, which stops the clock.
    clock.start(limits: service.configuration, on: context.eventLoop) { bound.value.tick() }
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
    isClosing = true
    clock.stop()
    answering?.task?.cancel()
    failBodyWaiter(ClientLeft())
    recent = nil
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The connection broke: its end tells whoever writes to it.
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

  /// While a request is answered, what follows it waits in the socket.
  private var wantsInput: Bool {
    if isClosing { return isLingering }
    return answering == nil || (isReceiving && bodyWaiter != nil)
  }

  private func resumeReading() {
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

  /// Goes through what has come, as far as it can be dealt with by now.
  private func process() {
    // An answer that is written at once comes back here.
    guard !isProcessing else { return }
    isProcessing = true
    defer { isProcessing = false }
    while !isClosing {
      if answering != nil, !isReceiving || bodyWaiter == nil { break }
      do throws(Refusal) {
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
        refuse(error)
      }
    }
    guard !isClosing else { return }
    clock.note(isAtStart: parser.isAtStart && answering == nil, isAnswering: answering != nil)
    if isInputClosed { inputEnded() }
    resumeReading()
  }

  /// A client may end its side and still wait for answers (RFC 9112 §9.6).
  private func inputEnded() {
    failBodyWaiter(ClientLeft())
    guard answering != nil else { return close() }
    // Requests that came behind this one have their turn yet.
    if input.readableBytes == 0 { closesAfterAnswer = true }
  }

  private func failBodyWaiter(_ error: any Error) {
    let waiter = takeBodyWaiter()
    waiter?.fail(error)
  }

  private func takeBodyWaiter() -> EventLoopPromise<ByteBuffer?>? {
    defer { bodyWaiter = nil }
    clock.noteAwaitsBody(false)
    return bodyWaiter
  }

  private func receive(_ bytes: ByteBuffer) {
    if let waiter = takeBodyWaiter() { return waiter.succeed(bytes) }
    discarded += bytes.readableBytes
    if discarded > Self.longestDiscard { close() }
  }

  private func receiveEnd() {
    isReceiving = false
    let waiter = takeBodyWaiter()
    waiter?.succeed(nil)
  }

  // MARK: Requests

  private func receive(_ head: RequestHead) {
    if head.framing == .none { settleEnd() }
    clock.noteRequest()
    requestNumber += 1
    let started = NIODeadline.now()
    answering = Answering(
      isHTTP10: head.minorVersion == 0, keepsAlive: head.keepsAlive,
      expectsContinue: head.expectsContinue)
    if answerAtOnce(head, started) { return }
    guard let context else { return }
    let request = ClientRequest(
      head: head, client: clientText, localAddress: localText, started: started)
    let writer = ResponseWriter(
      connection: NIOLoopBound(self, eventLoop: context.eventLoop),
      eventLoop: context.eventLoop, number: requestNumber)
    let service = service
    answering?.task = Task {
      await Answer(service: service, request: request, writer: writer).run()
    }
  }

  /// A request without a body is over with its head.
  private func settleEnd() {
    if case .end? = try? parser.next(&input) { isReceiving = false }
  }

  // MARK: Answering at once

  /// Answers from the file, where all that the request asks for is stored and fresh: without a task
  /// and without a copy.
  private func answerAtOnce(_ head: RequestHead, _ started: NIODeadline) -> Bool {
    guard service.canAnswerAtOnce(head), let resource = hotResource(head) else { return false }
    guard let hit = resource.hit(for: head, at: .now(), reusing: &headBuffer) else { return false }
    let closes = !head.keepsAlive || closesAfterAnswer || service.isStopping
    HotResource.finishHead(&headBuffer, closes: closes)
    guard let context else { return false }
    if closes { closesAfterAnswer = true }
    boundSending(false, context)
    let length = hit.range.upperBound - hit.range.lowerBound
    let promise = context.eventLoop.makePromise(of: Void.self)
    if let file = hit.file, !head.isHEAD, length > 0 {
      let handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: file.descriptor)
      context.write(wrapOutboundOut(.byteBuffer(headBuffer)), promise: nil)
      context.write(
        wrapOutboundOut(
          .fileRegion(
            FileRegion(
              fileHandle: handle, readerIndex: Int(hit.range.lowerBound),
              endIndex: Int(hit.range.upperBound)))),
        promise: promise)
      promise.futureResult.assumeIsolated().whenComplete { [self] result in
        // The descriptor is the cache's.
        withExtendedLifetime(file) { _ = try? handle.takeDescriptorOwnership() }
        wrote(hit, length, head, started, result)
      }
    } else {
      context.write(wrapOutboundOut(.byteBuffer(headBuffer)), promise: promise)
      promise.futureResult.assumeIsolated().whenComplete { [self] result in
        wrote(hit, 0, head, started, result)
      }
    }
    context.flush()
    return true
  }

  private func wrote(
    _ hit: HotResource.Hit, _ sent: Int64, _ head: RequestHead, _ started: NIODeadline,
    _ result: Result<Void, any Error>
  ) {
    var isSent = true
    if case .failure = result { isSent = false }
    if let log = service.configuration.log {
      log(
        ServedRequest(
          method: head.method, url: hit.urlText, status: hit.status,
          range: hit.status == 206 ? hit.range : nil, bytesSent: isSent ? sent : 0, source: .hit,
          seconds: Self.seconds(since: started), client: clientText, error: nil))
    }
    // Nothing more is begun for a client that is gone.
    finished(keepsAlive: isSent && !closesAfterAnswer)
  }

  static func seconds(since start: NIODeadline) -> Double {
    Double((NIODeadline.now() - start).nanoseconds) / 1e9
  }

  private func hotResource(_ head: RequestHead) -> HotResource? {
    guard isForUs(head) else { return nil }
    let isRecent = head.withTarget { target in
      recent?.target.withUnsafeReadableBytes { bytes in
        bytes.count == target.count && (bytes.isEmpty || bytes.elementsEqual(target))
      } == true
    }
    if isRecent, let resource = recent?.resource, resource.isHeld { return resource }
    recent = nil
    guard let resource = service.hotResource(head) else { return nil }
    recent = (ByteBuffer(string: head.target), resource)
    return resource
  }

  private func isForUs(_ head: RequestHead) -> Bool {
    head.withValue(of: .host) { host in
      guard let host else { return false }
      let isKnown = checkedHost?.withUnsafeReadableBytes { $0.elementsEqual(host) } == true
      if isKnown { return true }
      let text = String(decoding: host, as: UTF8.self)
      guard
        service.routes.isOurs(host: text, localAddress: localText, listening: service.address)
      else { return false }
      checkedHost = ByteBuffer(string: text)
      return true
    }
  }

  // MARK: Writing, for the task that answers

  /// Writes the head of the answer; the body follows as it says.
  func write(_ head: ResponseHead) -> EventLoopFuture<Void>? {
    guard let context, !isClosing, var answering, !answering.hasHead else { return nil }
    var keepsAlive = answering.keepsAlive && !closesAfterAnswer && !service.isStopping
    answering.hasHead = true
    switch head.body {
    case .none, .omitted: answering.left = 0
    case .length(let length): answering.left = length
    case .open:
      answering.isChunked = !answering.isHTTP10
      if answering.isHTTP10 { keepsAlive = false }
    }
    // What a client still wants to send of a body that nobody reads is not waited for.
    if isReceiving, bodyWaiter == nil, answering.expectsContinue { keepsAlive = false }
    if !keepsAlive { closesAfterAnswer = true }
    boundSending(head.isFetched, context)
    self.answering = answering
    headBuffer.clear()
    head.write(
      into: &headBuffer, isChunked: answering.isChunked,
      closes: !keepsAlive)
    if answering.isHTTP10, keepsAlive {
      headBuffer.moveWriterIndex(to: headBuffer.writerIndex - 2)
      headBuffer.writeStaticString("Connection: keep-alive\r\n\r\n")
    }
    let promise = context.eventLoop.makePromise(of: Void.self)
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(headBuffer)), promise: promise)
    return promise.futureResult
  }

  /// Writes more of the body. Done when the socket has taken it.
  func write(_ bytes: ByteBuffer) -> EventLoopFuture<Void>? {
    guard let context, account(for: Int64(bytes.readableBytes)) else { return nil }
    return framed(Int64(bytes.readableBytes), context) { promise in
      context.write(self.wrapOutboundOut(.byteBuffer(bytes)), promise: promise)
    }
  }

  /// As `write(_:)`, of a part of a file, which is not read by this process.
  func write(_ file: EntryFile, _ range: ByteRange) -> EventLoopFuture<Void>? {
    let count = range.upperBound - range.lowerBound
    guard let context, account(for: count) else { return nil }
    let handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: file.descriptor)
    let region = FileRegion(
      fileHandle: handle, readerIndex: Int(range.lowerBound), endIndex: Int(range.upperBound))
    let written = framed(count, context) { promise in
      context.write(self.wrapOutboundOut(.fileRegion(region)), promise: promise)
    }
    written.assumeIsolated().whenComplete { _ in
      withExtendedLifetime(file) { _ = try? handle.takeDescriptorOwnership() }
    }
    return written
  }

  private func framed(
    _ count: Int64, _ context: ChannelHandlerContext, _ write: (EventLoopPromise<Void>?) -> Void
  ) -> EventLoopFuture<Void> {
    // A chunk of nothing would be the end of the body.
    guard count > 0 else { return context.eventLoop.makeSucceededVoidFuture() }
    let promise = context.eventLoop.makePromise(of: Void.self)
    if answering?.isChunked == true {
      var start = context.channel.allocator.buffer(capacity: 20)
      start.writeString(String(count, radix: 16))
      start.writeStaticString("\r\n")
      context.write(wrapOutboundOut(.byteBuffer(start)), promise: nil)
      write(nil)
      var end = context.channel.allocator.buffer(capacity: 2)
      end.writeStaticString("\r\n")
      context.write(wrapOutboundOut(.byteBuffer(end)), promise: promise)
    } else {
      write(promise)
    }
    context.flush()
    return promise.futureResult
  }

  /// No more than was announced is ever sent.
  private func account(for count: Int64) -> Bool {
    guard !isClosing, let answering, answering.hasHead else { return false }
    guard let left = answering.left else { return true }
    guard count <= left else { return false }
    self.answering?.left = left - count
    return true
  }

  /// The body of the answer is over. What is shorter than announced ends the connection, so that
  /// the client sees that it is (RFC 9112 §8).
  func endAnswer() -> EventLoopFuture<Void>? {
    guard let context, !isClosing, let answering else { return nil }
    guard answering.hasHead, answering.left ?? 0 == 0 else {
      close()
      return nil
    }
    guard answering.isChunked else {
      finished(keepsAlive: !closesAfterAnswer)
      return context.eventLoop.makeSucceededVoidFuture()
    }
    let promise = context.eventLoop.makePromise(of: Void.self)
    var end = context.channel.allocator.buffer(capacity: 5)
    end.writeStaticString("0\r\n\r\n")
    // It is over when the socket has taken that, too: a connection is not closed before.
    promise.futureResult.assumeIsolated().whenComplete { [self] result in
      var isSent = true
      if case .failure = result { isSent = false }
      finished(keepsAlive: isSent && !closesAfterAnswer)
    }
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(end)), promise: promise)
    return promise.futureResult
  }

  func isAnswering(_ number: UInt64) -> Bool { answering != nil && requestNumber == number }

  var hasWrittenHead: Bool { answering?.hasHead == true }

  /// The answer cannot be brought to its end: the client must not take what it has for the whole.
  func abortAnswer() {
    if let context, let answering, answering.hasHead, !answering.isChunked, answering.left == nil {
      // Its end is the connection's end: only a reset can be told from it (RFC 9112 §9.5).
      let options = context.channel as? any SocketOptionProvider
      _ = options?.setSoLinger(Linger(l_onoff: 1, l_linger: 0))
    }
    close()
  }

  /// The next part of the request's body; nil at its end.
  func nextBodyPart() -> EventLoopFuture<ByteBuffer?>? {
    guard let context, !isClosing, let answering, bodyWaiter == nil else { return nil }
    guard isReceiving else { return context.eventLoop.makeSucceededFuture(nil) }
    if answering.expectsContinue, !answering.hasHead, input.readableBytes == 0 {
      self.answering?.expectsContinue = false
      context.writeAndFlush(
        wrapOutboundOut(.byteBuffer(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n"))),
        promise: nil)
    }
    let promise = context.eventLoop.makePromise(of: ByteBuffer?.self)
    bodyWaiter = promise
    clock.noteAwaitsBody(true)
    process()
    return promise.futureResult
  }

  private func finished(keepsAlive: Bool) {
    answering = nil
    // Who still reads its body has had the answer.
    failBodyWaiter(ClientLeft())
    clock.noteAnswered()
    guard keepsAlive, !isClosing else { return close() }
    process()
  }

  // MARK: Ending

  /// Answers what is no request, and ends the connection, for nobody can tell what follows.
  private func refuse(_ refusal: Refusal) {
    guard let context, !isClosing else { return }
    // In the middle of an answer there is nothing to say, nor of a body whose request has been
    // answered: it would be taken for the next one's.
    guard answering == nil, !isReceiving else { return close() }
    let (head, body) = OwnAnswer.make(refusal)
    headBuffer.clear()
    head.write(into: &headBuffer, isChunked: false, closes: true)
    headBuffer.writeString(body)
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(headBuffer)), promise: nil)
    service.configuration.log?(
      ServedRequest(
        method: "-", url: "-", status: refusal.status, range: nil,
        bytesSent: Int64(body.utf8.count), source: .proxy, seconds: 0, client: clientText,
        error: refusal.reason))
    close()
  }

  /// Closes once what was written has gone out. A client that is still sending would lose the
  /// answer to a reset, were the socket closed under it (RFC 9112 §9.6): it is told that no more
  /// comes, and given a moment to end its side.
  private func close() {
    guard !isClosing else { return }
    isClosing = true
    clock.stop()
    answering?.task?.cancel()
    guard let context else { return }
    guard answering == nil else { return context.close(promise: nil) }
    input = ByteBuffer()
    let channel = context.channel
    let bound = channel.eventLoop.assumeIsolated().scheduleTask(
      in: TimeAmount(service.configuration.sendTimeout)
    ) { channel.close(promise: nil) }
    channel.closeFuture.whenComplete { _ in bound.cancel() }
    let said = context.eventLoop.makePromise(of: Void.self)
    said.futureResult.assumeIsolated().whenComplete { [self] _ in linger(channel) }
    if isInputClosed {
      // There is no half left to be closed.
      context.writeAndFlush(wrapOutboundOut(.byteBuffer(ByteBuffer())), promise: said)
    } else {
      context.close(mode: .output, promise: said)
    }
  }

  private func linger(_ channel: any Channel) {
    guard !isInputClosed else { return channel.close(promise: nil) }
    let deadline = channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
    channel.closeFuture.whenComplete { _ in deadline.cancel() }
    isLingering = true
    resumeReading()
  }

  /// Ends it now, whatever it is at.
  func cut() {
    if isClosing { context?.close(promise: nil) } else { abortAnswer() }
  }

  /// The proxy stops: who is not being answered goes.
  func stop() {
    closesAfterAnswer = true
    if answering == nil { close() }
  }

  /// On Linux and Darwin alike (tcp(7)): bytes that wait in the socket and are not on their way yet.
  private func boundSending(_ isBounded: Bool, _ context: ChannelHandlerContext) {
    guard isBounded != isSendingBounded else { return }
    isSendingBounded = isBounded
    // 0: as the system has it. Where it cannot be set, nothing is lost but economy.
    try? context.channel.syncOptions?.setOption(
      .tcpOption(.init(rawValue: CInt(TCP_NOTSENT_LOWAT))),
      value: isBounded ? Self.boundedSending : 0)
  }

  private func tick() {
    guard let context else { return }
    let pending =
      (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    switch clock.verdict(pendingBytes: pending) {
    case .fine: break
    case .idle: close()
    case .slowHead:
      refuse(Refusal(408, "The request did not come to its end in time."))
    case .slowBody:
      closesAfterAnswer = true
      failBodyWaiter(Refusal(408, "The request's body did not go on in time."))
    case .stuck: abortAnswer()
    }
  }
}

private typealias Linger = linger

/// The client ended the connection, or went silent for too long.
struct ClientLeft: Error {}
