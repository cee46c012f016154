// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import Refrain

/// How a connection ends.
extension ProxyConnection {
  /// Answers what is no request, and ends the connection, for nobody can tell what follows.
  func refuse(_ httpError: HTTPError) {
    guard let context, !isClosing else { return }
    // In the middle of an answer there is nothing to say, nor of a body whose request has been
    // answered: it would be taken for the next one's.
    guard answering == nil, !isReceiving else { return close() }
    let (head, body) = OwnAnswer.make(httpError)
    headBuffer.clear()
    head.write(into: &headBuffer, isChunked: false, closes: true)
    headBuffer.writeString(body)
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(headBuffer)), promise: nil)
    service.configuration.log?(
      ServedRequest(
        method: "-", url: "-", status: httpError.status, range: nil,
        bytesSent: Int64(body.utf8.count), source: .proxy, seconds: 0, client: clientText,
        error: httpError.reason))
    close()
  }

  /// Closes once what was written has gone out. A client that is still sending would lose the
  /// answer to a reset, were the socket closed under it (RFC 9112 §9.6): it is told that no more
  /// comes, and given a moment to end its side.
  func close() {
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

  func linger(_ channel: any Channel) {
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
  func boundSending(_ isBounded: Bool, _ context: ChannelHandlerContext) {
    guard isBounded != isSendingBounded else { return }
    isSendingBounded = isBounded
    // 0: as the system has it. Where it cannot be set, nothing is lost but economy.
    try? context.channel.syncOptions?.setOption(
      .tcpOption(.init(rawValue: CInt(TCP_NOTSENT_LOWAT))),
      value: isBounded ? Self.boundedSending : 0)
  }

  func tick() {
    guard let context else { return }
    let pending =
      (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    switch clock.verdict(pendingBytes: pending) {
    case .fine: break
    case .idle: close()
    case .slowHead:
      refuse(HTTPError(408, "The request did not come to its end in time."))
    case .slowBody:
      closesAfterAnswer = true
      failBodyWaiter(HTTPError(408, "The request's body did not go on in time."))
    case .stuck: abortAnswer()
    }
  }
}
