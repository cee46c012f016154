// SPDX-License-Identifier: MIT

internal import NIOCore
internal import NIOHTTP1

/// One connection: takes parsed requests one after the other, writes the responses as raw bytes.
///
/// A body is written only while the channel is writable, and no further bytes are made for a client
/// that does not read: a few hundred KiB wait in the channel, the rest in the sockets' buffers.
final class OriginConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = IOData

  /// Fired to every connection by `OriginServer.release(_:)`.
  struct Release: Sendable {
    let path: String
  }

  private let state: OriginState
  private var id = 0
  private var head: HTTPRequestHead?
  private var waiting = CircularBuffer<HTTPRequestHead>()
  private var sending: Sending?
  /// The request whose response a live stream has yet to write.
  private var pending: OriginState.Served?

  init(_ state: OriginState) { self.state = state }

  func channelActive(context: ChannelHandlerContext) {
    id = state.opened(context.channel)
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    sending?.cancel()
    sending = nil
    if let pending { noteStalled(pending, -1, isAbandoned: true) }
    pending = nil
    state.closed(id)
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): self.head = head
    case .body: break
    case .end:
      if let head { waiting.append(head) }
      head = nil
      answerNext(context)
    }
  }

  /// Closes the connection: the bytes are not HTTP, or the decoder rejects them.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { sending?.proceed() }
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let release = event as? Release {
      if sending?.path == release.path { sending?.release() }
    } else {
      context.fireUserInboundEventTriggered(event)
    }
  }

  private func answerNext(_ context: ChannelHandlerContext) {
    guard sending == nil, pending == nil, let head = waiting.popFirst() else { return }
    let served = state.begin(
      head.method.rawValue, head.uri, head.headers.map { Field($0.name, $0.value) }, on: id)
    respond(to: served, head, context)
  }

  private func respond(
    to served: OriginState.Served, _ head: HTTPRequestHead, _ context: ChannelHandlerContext
  ) {
    guard let live = served.live, !served.faults.contains(where: \.replacesAnswer) else {
      return send(AnswerPlan.answer(to: served), served, head, context)
    }
    switch live.response(to: served.request) {
    case .resource(let resource):
      let answer = AnswerPlan.answer(to: served, from: resource, with: served.faults)
      send(answer, served, head, context)
    case .status(let status):
      let faults = served.faults + [.status(status)]
      send(AnswerPlan.answer(to: served, from: nil, with: faults), served, head, context)
    case .wait(let time):
      wait(until: time, on: live.clock, for: served, head, context)
    }
  }

  private func wait(
    until time: Duration, on clock: LiveClock, for served: OriginState.Served,
    _ head: HTTPRequestHead, _ context: ChannelHandlerContext
  ) {
    pending = served
    noteStalled(served, 1)
    let bound = NIOLoopBound((self, served, head, context), eventLoop: context.eventLoop)
    clock.whenReached(time, on: context.eventLoop) {
      let (connection, served, head, context) = bound.value
      // The client has left.
      guard connection.pending?.id == served.id else { return }
      connection.pending = nil
      connection.noteStalled(served, -1)
      connection.respond(to: served, head, context)
    }
  }

  private func noteStalled(
    _ served: OriginState.Served, _ change: Int, isAbandoned: Bool = false
  ) {
    state.note(served.path, served.id) { log, request in
      log.stalled += change
      if isAbandoned, let request { log.requests[request].outcome = .abandoned }
    }
  }

  private func send(
    _ answer: Answer, _ served: OriginState.Served, _ head: HTTPRequestHead,
    _ context: ChannelHandlerContext
  ) {
    var answer = answer
    if !head.isKeepAlive { answer.closes = true }
    if head.version.minor == 0, case .chunked = answer.framing { answer.framing = .toTheClose }
    let sending = Sending(answer, served, state, context) { [weak self] in
      self?.sending = nil
      self?.answerNext(context)
    }
    self.sending = sending
    sending.start()
  }
}
