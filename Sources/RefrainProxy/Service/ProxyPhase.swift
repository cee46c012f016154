// SPDX-License-Identifier: MIT
import RefrainLocks

/// How far a proxy is from its end.
package final class ProxyPhase: Sendable {
  private let stopping = Atomic(false)
  private let draining = Atomic(false)

  /// Whether the proxy ends.
  package var isStopping: Bool { stopping.load(ordering: .relaxed) }

  /// Whether the proxy serves, but reports that it is about to end.
  package var isDraining: Bool { draining.load(ordering: .relaxed) }

  /// Whether connections end with the responses under way: their clients are to go elsewhere.
  package var isEnding: Bool { isStopping || isDraining }

  func drain() { draining.store(true, ordering: .relaxed) }

  func stop() { stopping.store(true, ordering: .relaxed) }
}

/// Where a proxy listens.
final class ProxyPlace: Sendable {
  private let addresses = Mutex<(now: ListeningAddress?, known: ListeningAddress?)>((nil, nil))

  /// The address on which the proxy listens now.
  var address: ListeningAddress? {
    get { addresses.withLock { $0.now } }
    set { addresses.withLock { $0 = (newValue, newValue ?? $0.known) } }
  }

  /// The address by which requests are recognized as meant for this proxy: those of connections
  /// that were accepted before the listening socket was closed, too.
  var known: ListeningAddress? { addresses.withLock { $0.known } }
}
