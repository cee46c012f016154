// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import Refrain

#if canImport(Darwin)
  import Darwin
#endif

extension ProxyConnection {
  var isClosing: Bool { phase >= .closing }

  func closeAfterResponse() { phase = max(phase, .lastResponse) }

  /// Responds to bytes that are not a request, and closes: the next request cannot be found.
  func refuse(_ httpError: HTTPError) {
    guard let context, !isClosing else { return }
    // In the middle of a response, or of a body whose request has been answered, the error would be
    // taken for a part of that response or for the next one.
    let response = ProxyResponse(httpError)
    guard answering == nil, case .ended = body, case .data(let data) = response.body else {
      return close()
    }
    let bytesSent = Int64(data.count)
    ResponseHead(status: response.status, fields: response.fields, length: bytesSent, hasBody: true)
      .write(into: &headBuffer, closes: true)
    headBuffer.writeBytes(data)
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(headBuffer)), promise: nil)
    defer { close() }
    guard setup.front != nil else { return }
    setup.service.note(
      ServedRequest(
        method: "-", url: "-", status: httpError.status, bytesSent: bytesSent, source: .proxy,
        client: clientText, error: httpError.reason), of: nil)
  }

  /// Closes once written bytes have been sent. A client that is still sending would lose the
  /// response to a reset if the socket were closed at once (RFC 9112 §9.6): the proxy ends its own
  /// side, and gives the client a moment to end the other.
  func close() {
    guard !isClosing else { return }
    beginClosing()
    guard let context else { return }
    guard answering == nil else { return context.close(promise: nil) }
    input = ByteBuffer()
    let channel = context.channel
    closeIfOpen(channel, in: TimeAmount(setup.settings.sendTimeout))
    let said = context.eventLoop.makePromise(of: Void.self)
    said.futureResult.assumeIsolated().whenComplete { [self] _ in
      closeIfOpen(channel, in: .seconds(1))
    }
    context.close(mode: .output, promise: said)
    resumeReading()
  }

  func beginClosing() {
    phase = .closing
    clock?.cancel()
    clock = nil
    answering?.task?.cancel()
  }

  private func closeIfOpen(_ channel: any Channel, in time: TimeAmount) {
    let deadline = channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    channel.closeFuture.whenComplete { _ in deadline.cancel() }
  }

  /// Aborts a response that cannot be completed: the client must not take a part for the whole.
  func abortAnswer() {
    if isClosing {
      context?.close(promise: nil)
      return
    }
    if let context, case .toEnd? = answering?.framing {
      // The connection's end would end the body normally: only a reset differs (RFC 9112 §9.5).
      let options = context.channel as? any SocketOptionProvider
      _ = options?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
    }
    close()
  }

  /// Stops the connection: at once if it is idle, else after its response. At a given socket no
  /// request may fail: a client that has just connected, or does not know yet that the connection
  /// closes, has a moment for its next request, whose response says so. Call this again then.
  func stop() {
    let settings = setup.settings
    if !settings.isSocketGiven { closeAfterResponse() }
    guard answering == nil else { return }
    if !settings.isSocketGiven || .now() - since > TimeAmount(settings.lastRequestTimeout) {
      close()
    }
  }
}

/// Ends connections on which nothing happens for too long.
extension ProxyConnection {
  func startClock() {
    guard let context else { return }
    let settings = setup.settings
    let shortest = min(settings.headTimeout, settings.idleTimeout, settings.sendTimeout)
    let step = min(max(TimeAmount(shortest / 4), .milliseconds(10)), .seconds(5))
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    // Ends with the connection, which stops the clock.
    clock = context.eventLoop.scheduleRepeatedTask(initialDelay: step, delay: step) { _ in
      bound.value.tick()
    }
  }

  private func tick() {
    guard let context else { return }
    let (settings, now) = (setup.settings, NIODeadline.now())
    guard answering != nil else {
      if parser.isAtStart {
        if now - since > TimeAmount(settings.idleTimeout) { close() }
      } else if now - since > TimeAmount(settings.headTimeout) {
        refuse(HTTPError(408, "The request was not complete in time."))
      }
      return
    }
    let pending = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    if pending == 0 || pending != pendingBytes { since = now }
    pendingBytes = pending
    // Another program has truncated the file: sendfile(2) finds nothing to send, which SwiftNIO takes
    // for a call to be repeated at once.
    if pending > 0, let sending, !sending.file.reaches(sending.end) { return abortAnswer() }
    if case .awaited(_, let start) = body, now - start > TimeAmount(settings.headTimeout) {
      closeAfterResponse()
      failBodyWaiter(HTTPError(408, "The request's body did not continue in time."))
    } else if now - since > TimeAmount(settings.sendTimeout) {
      abortAnswer()
    }
  }
}
