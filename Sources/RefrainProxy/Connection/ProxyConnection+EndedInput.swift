// SPDX-License-Identifier: MIT
import NIOCore
import Refrain

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
      if waited >= setup.settings.endedInputTimeout / .seconds(1) {
        endWatch()
        return abortAnswer()
      }
      if waited >= settings.crowdedEndedInputTimeout / .seconds(1) {
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
