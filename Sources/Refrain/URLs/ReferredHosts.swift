// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The names of hosts to which public documents and redirects of other hosts have referred. A public
/// name may lead to a private address. May be used from any thread.
package final class ReferredHosts: Sendable {
  private struct State {
    var hosts: Set<String> = []
    /// Whether there were too many: all hosts count as referred to.
    var isFull = false
  }

  private static let capacity = 65_536

  private let state = Mutex(State())

  package init() {}

  func insert(_ url: URL, from referrer: URL) {
    guard let host = WebOrigin(url)?.host, host != WebOrigin(referrer)?.host else { return }
    state.withLock { state in
      guard !state.isFull else { return }
      state.hosts.insert(host)
      if state.hosts.count > Self.capacity { state = State(isFull: true) }
    }
  }

  func contains(_ url: URL) -> Bool {
    state.withLock { state in
      if state.hosts.isEmpty { return state.isFull }
      return WebOrigin(url).map { state.hosts.contains($0.host) } ?? true
    }
  }
}
