// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import Refrain

/// Ends a connection.
extension ProxyConnection {
  /// Responds to bytes that are not a request, and closes the connection: the next request cannot
  /// be found.
  func refuse(_ httpError: HTTPError) {
    guard let context, !isClosing else { return }
    // In the middle of a response, or of a body whose request has been answered, the error would be
    // taken for a part of that response or for the next one.
    guard answering == nil, !isReceiving else { return close() }
    let response = ProxyResponse(httpError)
    guard case .data(let body) = response.body else { return close() }
    let bytesSent = Int64(body.count)
    headBuffer.clear()
    ResponseHead(status: response.status, fields: response.fields, body: .length(bytesSent))
      .write(into: &headBuffer, isChunked: false, closes: true)
    headBuffer.writeBytes(body)
    context.writeAndFlush(wrapOutboundOut(.byteBuffer(headBuffer)), promise: nil)
    defer { close() }
    guard let clients = setup.clients else { return }
    clients.traffic.note(
      Traffic.Outcome(source: .proxy, bytesSent: bytesSent, hasError: true, seconds: 0))
    clients.log.note(nil) {
      ServedRequest(
        method: "-", url: "-", status: httpError.status, range: nil, bytesSent: bytesSent,
        source: .proxy, seconds: 0, client: clientText, error: httpError.reason)
    }
  }

  /// Closes once written bytes have been sent. A client that is still sending would lose the
  /// response to a reset if the socket were closed at once (RFC 9112 §9.6): the proxy ends its own
  /// side, and gives the client a moment to end the other.
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
      in: TimeAmount(setup.settings.sendTimeout)
    ) { channel.close(promise: nil) }
    channel.closeFuture.whenComplete { _ in bound.cancel() }
    let said = context.eventLoop.makePromise(of: Void.self)
    said.futureResult.assumeIsolated().whenComplete { [self] _ in linger(channel) }
    if isInputClosed {
      // The input is closed already: the output cannot be closed on its own.
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

  /// Closes the connection now, whatever its state.
  func cut() {
    if isClosing { context?.close(promise: nil) } else { abortAnswer() }
  }

  /// Stops the connection: at once if it is idle, else after its response. At a given socket, the next
  /// process responds to whom this one does not: no request may fail. A client that has just
  /// connected, or was not told yet that the connection closes, has a moment for its next request,
  /// whose response says so. To be called again then.
  func stop() {
    let isGiven = setup.settings.isSocketGiven
    if !isGiven { closesAfterAnswer = true }
    guard answering == nil else { return }
    if !isGiven || clock.silence > TimeAmount(setup.settings.lastRequestTimeout) { close() }
  }

  /// Bounds the bytes that wait in the socket unsent, on Linux and Darwin alike (tcp(7)).
  func boundSending(_ isBounded: Bool, _ context: ChannelHandlerContext) {
    guard isBounded != isSendingBounded else { return }
    isSendingBounded = isBounded
    // 0: the system's default. On failure more bytes than needed are fetched, nothing worse.
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
      refuse(HTTPError(408, "The request was not complete in time."))
    case .slowBody:
      closesAfterAnswer = true
      failBodyWaiter(HTTPError(408, "The request's body did not continue in time."))
    case .stuck: abortAnswer()
    }
  }
}

/// Responses to a client that has ended its side of the connection.
///
/// It may still wait for its responses (RFC 9112 §9.6), or have closed the connection: both look the
/// same until something is sent to it, to which only a closed connection responds with a reset.
/// Nothing could be sent early: HTTP/1.0 has no interim responses, a response with a length has no
/// room, and the clients that end their side are simple ones, which may take a 102 for their
/// response. TCP's own probes are acknowledged for a closed connection too, for a minute.
///
/// So the client receives what comes, and is taken for gone once nothing has come for as long as an
/// origin may be silent. A client that has gone keeps its reader until then, while its origin stalls;
/// if there are many of them, for a moment only.
extension ProxyConnection {
  private static let step = TimeAmount.milliseconds(250)

  /// The part of the responses that was written; changes as they go on.
  private struct Written: Equatable {
    var request: UInt64
    var writes: UInt64
  }

  private var written: Written { Written(request: requestNumber, writes: writes) }

  private var now: Uptime { setup.settings.endedInputClock() }

  /// Watches the response under way, and those to requests that have arrived already.
  func watchEndedInput() {
    guard !isWatchingEndedInput else { return }
    isWatchingEndedInput = true
    watch(written, since: now)
  }

  private func endWatch() {
    isWatchingEndedInput = false
    countAsWaiting(false)
  }

  /// Counts the client among those that have received nothing for a while, or no longer.
  private func countAsWaiting(_ isWaiting: Bool) {
    guard isCountedEndedInput != isWaiting else { return }
    isCountedEndedInput = isWaiting
    setup.endedInputs.add(isWaiting ? 1 : -1)
  }

  private func watch(_ last: Written, since: Uptime) {
    guard let context else { return endWatch() }
    context.eventLoop.assumeIsolated().scheduleTask(in: Self.step) { [self] in
      guard let context = self.context, !isClosing, answering != nil else { return endWatch() }
      let now = now
      let pending = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
      // A client that accepts bytes slowly is there.
      guard pending == 0, written == last else {
        countAsWaiting(false)
        return watch(written, since: now)
      }
      let waited = now.seconds(since: since) ?? .infinity
      let settings = setup.settings
      if let timeout = settings.endedInputTimeout, waited >= timeout / .seconds(1) {
        endWatch()
        return abortAnswer()
      }
      if waited >= ConnectionSettings.crowdedEndedInputTimeout / .seconds(1) {
        countAsWaiting(true)
        if setup.endedInputs.leave(ifMoreThan: settings.mostEndedInputs) {
          (isWatchingEndedInput, isCountedEndedInput) = (false, false)
          return abortAnswer()
        }
      }
      watch(last, since: since)
    }
  }
}
