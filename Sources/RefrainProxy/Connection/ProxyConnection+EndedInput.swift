// SPDX-License-Identifier: MIT
import NIOCore

/// Responses to a client that has ended its side of the connection.
///
/// It may still wait for its responses (RFC 9112 §9.6), or have closed the connection: both look the
/// same until something is sent to it. So it receives what comes, and is taken for gone once nothing
/// has come for a while: a stalled origin would otherwise keep its reader for as long as it stalls.
extension ProxyConnection {
  private static let step = TimeAmount.milliseconds(250)

  /// The part of the responses that was written; changes as they go on.
  private struct Written: Equatable {
    var request: UInt64
    var writes: UInt64
  }

  private var written: Written { Written(request: requestNumber, writes: writes) }

  /// Watches the response under way, and those to requests that have arrived already.
  func watchEndedInput() {
    guard !isWatchingEndedInput else { return }
    isWatchingEndedInput = true
    watch(written, since: .now())
  }

  private func watch(_ last: Written, since: NIODeadline) {
    guard let context else { return }
    let patience = TimeAmount(service.configuration.endedInputTimeout)
    context.eventLoop.assumeIsolated().scheduleTask(in: min(Self.step, patience)) { [self] in
      guard let context = self.context, !isClosing, answering != nil else {
        isWatchingEndedInput = false
        return
      }
      let now = NIODeadline.now()
      let pending = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
      // A client that accepts bytes slowly is there.
      guard pending == 0, written == last else { return watch(written, since: now) }
      if now - since < patience { watch(last, since: since) } else { abortAnswer() }
    }
  }
}
