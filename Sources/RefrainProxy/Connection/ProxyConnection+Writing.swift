// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

#if canImport(Darwin)
  import Darwin
#endif

/// Writes responses, for the task that responds.
extension ProxyConnection {
  /// Writes the head of the response; the body follows as the head declares.
  func write(_ head: ResponseHead) -> EventLoopFuture<Void>? {
    guard let context, !isClosing, var answering, !answering.hasHead else { return nil }
    var keepsAlive = answering.keepsAlive && !closesAfterAnswer && !setup.isEnding
    answering.hasHead = true
    writes += 1
    if head.isMeasured {
      setup.clients?.traffic.noteFirstByte(after: Self.seconds(since: answering.started))
    }
    switch head.body {
    case .none, .omitted: answering.left = 0
    case .length(let length): answering.left = length
    case .open:
      answering.isChunked = !answering.isHTTP10
      if answering.isHTTP10 { keepsAlive = false }
    }
    // A body that no task reads is not waited for.
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

  /// Writes an interim response, before the final one. Clients of HTTP/1.0 know none, and 100 and 101
  /// are about one connection only. A client that does not read receives none: it needs none.
  func writeInterim(_ status: Int, _ fields: HeaderFields) {
    guard let context, !isClosing, let answering, !answering.hasHead, !answering.isHTTP10,
      (102..<200).contains(status), context.channel.isWritable
    else { return }
    writes += 1
    headBuffer.clear()
    ResponseHead(status: status, fields: fields, body: .none)
      .write(into: &headBuffer, isChunked: false, closes: false)
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(headBuffer)), promise: nil)
  }

  /// Writes more of the body. Completes when the socket has accepted it.
  func write(_ bytes: ByteBuffer) -> EventLoopFuture<Void>? {
    guard let context, account(for: Int64(bytes.readableBytes)) else { return nil }
    return framed(Int64(bytes.readableBytes), context) { promise in
      context.write(self.wrapOutboundOut(.byteBuffer(bytes)), promise: promise)
    }
  }

  func framed(
    _ count: Int64, _ context: ChannelHandlerContext, _ write: (EventLoopPromise<Void>?) -> Void
  ) -> EventLoopFuture<Void> {
    // A chunk of length 0 would end the body.
    guard count > 0 else { return context.eventLoop.makeSucceededVoidFuture() }
    writes += 1
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

  /// Counts bytes to be sent; returns false if they exceed the announced length.
  func account(for count: Int64) -> Bool {
    guard !isClosing, let answering, answering.hasHead else { return false }
    guard let left = answering.left else { return true }
    guard count <= left else { return false }
    self.answering?.left = left - count
    return true
  }

  /// Ends the body of the response. If it is shorter than announced, closes the connection, which
  /// shows the client that it is incomplete (RFC 9112 §8).
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
    // The response ends when the socket has accepted this too: the connection is not closed before.
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

  /// Aborts a response that cannot be completed: the client must not take a part for the whole.
  func abortAnswer() {
    if let context, let answering, answering.hasHead, !answering.isChunked, answering.left == nil {
      // The connection's end would end the body normally: only a reset differs (RFC 9112 §9.5).
      let options = context.channel as? any SocketOptionProvider
      _ = options?.setSoLinger(Linger(l_onoff: 1, l_linger: 0))
    }
    close()
  }

  /// Returns the next part of the request's body; nil at its end.
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

  func finished(keepsAlive: Bool) {
    answering = nil
    // A task that still reads the body has already responded.
    failBodyWaiter(ClientDisconnected())
    clock.noteAnswered()
    guard keepsAlive, !isClosing else { return close() }
    process()
  }
}

private typealias Linger = linger
