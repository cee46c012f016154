// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// Passes requests that have ended to the app's log.
struct RequestLog: Sendable {
  /// Nil: nothing is logged.
  private let write: (@Sendable (ServedRequest) -> Void)?
  /// Whether the log receives the version, `Referer` and `User-Agent`.
  private let hasClientFields: Bool
  /// Returns a text without the proxy's token.
  private let routes: Routes

  init(
    _ write: (@Sendable (ServedRequest) -> Void)?, hasClientFields: Bool, routes: Routes
  ) {
    (self.write, self.hasClientFields, self.routes) = (write, hasClientFields, routes)
  }

  /// Longer values are shortened: many requests may wait to be logged.
  private static let longestField = 1024

  /// - Parameters:
  ///   - head: nil for bytes that were not a request.
  ///   - request: called only if something is logged.
  func note(_ head: RequestHead?, _ request: () -> ServedRequest) {
    guard let write else { return }
    var request = request()
    if hasClientFields, let head {
      let fields = head.fields
      request.version = "HTTP/1.\(head.minorVersion)"
      request.referrer = fields["Referer"].map { Self.shortened(routes.shown($0)) }
      request.userAgent = fields["User-Agent"].map(Self.shortened)
    }
    write(request)
  }

  private static func shortened(_ text: String) -> String {
    text.utf8.count <= longestField
      ? text : String(decoding: text.utf8.prefix(longestField), as: UTF8.self) + "…"
  }
}

/// Counts the responders under way. A responder may outlive its connection for a moment: the proxy
/// waits for it before it ends, so that its request is logged.
final class RunningResponders: Sendable {
  private struct State {
    var count = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  func begin() { state.withLock { $0.count += 1 } }

  func end() {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.count -= 1
      guard state.count == 0 else { return [] }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns once no responder is under way. Cancellation has no effect: responders of closed
  /// connections are cancelled, and end by themselves.
  func waitForAll() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.count == 0 { return true }
        state.waiters.append(continuation)
        return false
      }
      if isOver { continuation.resume() }
    }
  }
}
