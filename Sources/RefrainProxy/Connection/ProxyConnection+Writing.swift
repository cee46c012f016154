// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import Refrain

extension ProxyConnection {
  func write(_ head: ResponseHead) -> EventLoopFuture<Void>? {
    guard let context, !isClosing, let answering, !hasWrittenHead else { return nil }
    var keepsAlive = answering.keepsAlive && phase == .open && !setup.isEnding
    if let length = head.hasBody ? head.length : 0 {
      self.answering?.framing = .length(left: length)
    } else {
      self.answering?.framing = answering.isHTTP10 ? .toEnd : .chunked
    }
    // A body that no task reads is not waited for.
    if case .unread = body, answering.expectsContinue { keepsAlive = false }
    if !keepsAlive { closeAfterResponse() }
    head.write(into: &headBuffer, isChunked: !answering.isHTTP10, closes: !keepsAlive)
    return writeAndFlush(headBuffer, context)
  }

  /// Clients of HTTP/1.0 know no interim responses, and 100 and 101 are about one connection only.
  /// A client that does not read receives none: it needs none.
  func writeInterim(_ status: Int, _ fields: HeaderFields) {
    guard let context, !isClosing, let answering, !hasWrittenHead, !answering.isHTTP10,
      (102..<200).contains(status), context.channel.isWritable
    else { return }
    ResponseHead(status: status, fields: fields).write(into: &headBuffer)
    _ = writeAndFlush(headBuffer, context)
  }

  private func writeAndFlush(
    _ bytes: ByteBuffer, _ context: ChannelHandlerContext
  ) -> EventLoopFuture<Void> {
    let promise = context.eventLoop.makePromise(of: Void.self)
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(bytes)), promise: promise)
    return promise.futureResult
  }

  /// Completes when the socket has accepted the bytes.
  func write(_ bytes: ByteBuffer) -> EventLoopFuture<Void>? {
    framed(Int64(bytes.readableBytes)) { context, promise in
      context.write(self.wrapOutboundOut(.byteBuffer(bytes)), promise: promise)
    }
  }

  func write(_ file: EntryFile, _ range: ByteRange) -> EventLoopFuture<Void>? {
    framed(range.upperBound - range.lowerBound) { context, promise in
      write(file, range, context, promise)
    }
  }

  /// Returns nil if the bytes would exceed the announced length.
  private func framed(
    _ count: Int64, _ write: (ChannelHandlerContext, EventLoopPromise<Void>?) -> Void
  ) -> EventLoopFuture<Void>? {
    guard let context, !isClosing, let framing = answering?.framing else { return nil }
    if case .length(let left) = framing {
      guard count <= left else { return nil }
      answering?.framing = .length(left: left - count)
    }
    // A chunk of length 0 would end the body.
    guard count > 0 else { return context.eventLoop.makeSucceededVoidFuture() }
    let promise = context.eventLoop.makePromise(of: Void.self)
    if case .chunked = framing {
      let start = ByteBuffer(string: String(count, radix: 16) + "\r\n")
      context.write(wrapOutboundOut(.byteBuffer(start)), promise: nil)
      write(context, nil)
      context.write(wrapOutboundOut(.byteBuffer(ByteBuffer(string: "\r\n"))), promise: promise)
    } else {
      write(context, promise)
    }
    context.flush()
    return promise.futureResult
  }

  /// Closes the connection if the body is shorter than announced: it is incomplete (RFC 9112 §8).
  func endAnswer() -> EventLoopFuture<Void>? {
    guard let context, !isClosing, let answering else { return nil }
    switch answering.framing {
    case nil, .length(left: 1...):
      close()
      return nil
    case .length, .toEnd:
      finished(isSent: true)
      return context.eventLoop.makeSucceededVoidFuture()
    case .chunked:
      let end = writeAndFlush(ByteBuffer(string: "0\r\n\r\n"), context)
      // The response ends when the socket has accepted this too: the connection is not closed before.
      end.assumeIsolated().whenComplete { [self] in finished(isSent: (try? $0.get()) != nil) }
      return end
    }
  }

  var hasWrittenHead: Bool { answering?.framing != nil }

  /// Sends a part of a file by sendfile(2).
  private func write(
    _ file: EntryFile, _ range: ByteRange, _ context: ChannelHandlerContext,
    _ promise: EventLoopPromise<Void>?
  ) {
    sending = (file, range.upperBound)
    // The descriptor belongs to the cache.
    let handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: file.descriptor)
    let region = FileRegion(
      fileHandle: handle, readerIndex: Int(range.lowerBound), endIndex: Int(range.upperBound))
    let written = context.eventLoop.makePromise(of: Void.self)
    written.futureResult.assumeIsolated().whenComplete { [self] result in
      withExtendedLifetime(file) { _ = try? handle.takeDescriptorOwnership() }
      // The next response may begin with the promise.
      sending = nil
      promise?.completeWith(result)
    }
    context.write(wrapOutboundOut(.fileRegion(region)), promise: written)
  }

  static func seconds(since start: NIODeadline) -> Double {
    Double((NIODeadline.now() - start).nanoseconds) / 1e9
  }
}

extension ProxyConnection {
  /// Responds without a task or a copy if all requested bytes are stored and fresh, or returns
  /// false.
  func answerAtOnce(_ head: RequestHead, _ started: NIODeadline) -> Bool {
    // The most common kind. What has to be copied is read by a task: a read may block.
    guard let context, setup.front != nil,
      head.isHEAD || head.isGET && setup.settings.sendsFiles,
      head.minorVersion == 1, head.contentLength == nil,
      !head.isConditional, !head.hasDirectives, !head.hasAuthorization,
      let resource = cachedHit(head),
      let hit = resource.hit(for: head, at: started, reusing: &headBuffer)
    else { return false }
    let closes = !head.keepsAlive || phase != .open || setup.isEnding
    headBuffer.writeStaticString(closes ? "Connection: close\r\n\r\n" : "\r\n")
    if closes { closeAfterResponse() }
    let response = HitResponse(
      hit: hit, head: head, started: started, firstByte: Self.seconds(since: started))
    guard let sent = sendAtOnce(hit, context) else {
      end(response, 0, isSent: false)
      return true
    }
    setup.service.traffic.noteSent(sent)
    sendRest(of: response, after: sent, context)
    return true
  }

  private struct HitResponse {
    let hit: CachedHit.Hit
    let head: RequestHead
    let started: NIODeadline
    let firstByte: Double
  }

  private func end(_ response: HitResponse, _ bytesSent: Int64, isSent: Bool) {
    let hit = response.hit
    var served = ServedRequest(
      method: response.head.method, url: hit.url, status: hit.status,
      range: hit.status == 206 ? hit.range : nil, bytesSent: bytesSent, source: .hit,
      seconds: Self.seconds(since: response.started), client: clientText)
    served.bytesFromCache = bytesSent
    setup.service.note(served, of: response.head, firstByte: response.firstByte)
    finished(isSent: isSent)
  }

  /// Sends in parts, so that what a client has received is counted if it leaves before the end.
  private func sendRest(
    of response: HitResponse, after sent: Int64, _ context: ChannelHandlerContext
  ) {
    let hit = response.hit
    if headBuffer.readableBytes == 0, sent == hit.count {
      return end(response, sent, isSent: true)
    }
    let start = hit.range.lowerBound + sent
    let part = start..<start + min(hit.count - sent, 4 << 20)
    let promise = context.eventLoop.makePromise(of: Void.self)
    promise.futureResult.assumeIsolated().whenComplete { [self] result in
      guard case .success = result else { return end(response, sent, isSent: false) }
      setup.service.traffic.noteSent(Int64(part.count))
      sendRest(of: response, after: sent + Int64(part.count), context)
    }
    if let head = headBuffer.readSlice(length: headBuffer.readableBytes), head.readableBytes > 0 {
      context.write(
        wrapOutboundOut(.byteBuffer(head)), promise: hit.file == nil ? promise : nil)
    }
    if let file = hit.file { write(file, part, context, promise) }
    context.flush()
  }

  /// Passes as much of a hit to the socket as it accepts now, since nothing waits in the channel
  /// between responses. Holding the head back until the body follows (MSG_MORE, TCP_CORK) costs the
  /// system a third more on loopback. Returns the accepted bytes of the body, nil if another program
  /// has truncated the file before them; those of the head leave `headBuffer`.
  private func sendAtOnce(_ hit: CachedHit.Hit, _ context: ChannelHandlerContext) -> Int64? {
    #if os(Linux)
      guard let socket, context.channel.isActive else { return 0 }
      let count = headBuffer.withUnsafeReadableBytes {
        send(socket, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL))
      }
      // The channel meets an error itself when it sends the rest.
      headBuffer.moveReaderIndex(forwardBy: max(0, count))
      guard headBuffer.readableBytes == 0, let file = hit.file else { return 0 }
      var offset = off_t(hit.range.lowerBound)
      // A client that is faster than the disk would have it read the whole file in one call.
      let sent = sendfile(socket, file.descriptor, &offset, Int(min(hit.count, 16 << 20)))
      return sent == 0 ? nil : Int64(max(0, sent))
    #else
      return 0
    #endif
  }

  private func cachedHit(_ head: RequestHead) -> CachedHit? {
    let service = setup.service
    guard let place = head.host else { return nil }
    let isOurs = head.withBytes(at: place) { host in
      if checkedHost?.isEqual(to: host) == true { return true }
      guard service.routes.isOurs(host: host.text, localAddress: localText) else { return false }
      checkedHost = ByteBuffer(bytes: host)
      return true
    }
    guard isOurs else { return nil }
    if let recent, head.withTarget(recentTarget.isEqual) { return recent }
    let target = head.target
    guard service.routes.mayBeOurs(target: target),
      let resource = service.hits.resource(for: target)
    else { return nil }
    (recentTarget, recent) = (ByteBuffer(string: target), resource)
    return resource
  }
}

extension ByteBuffer {
  fileprivate func isEqual(to bytes: UnsafeRawBufferPointer) -> Bool {
    readableBytes == bytes.count && withUnsafeReadableBytes { $0.elementsEqual(bytes) }
  }
}
