// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks
import RefrainProxy

/// Holds the clients of a proxy to their limits. May be used from any thread.
final class Clients: ClientGate {
  private let limits: ClientLimits
  private let start = ContinuousClock.now
  private let table: Mutex<ClientTable>

  init(_ limits: ClientLimits) {
    self.limits = limits
    table = Mutex(ClientTable(limits))
  }

  var isPacing: Bool { limits.bytesPerSecond != nil }

  /// In seconds.
  private var now: Double { (ContinuousClock.now - start) / .seconds(1) }

  func enter(_ client: String) -> HTTPError? {
    let isAccepted = table.withLock { $0.enter(ClientNetwork(client), at: now) }
    return isAccepted
      ? nil
      : HTTPError(429, "Your address has too many connections. Close some first.", retryAfter: 1)
  }

  func leave(_ client: String) { table.withLock { $0.leave(ClientNetwork(client), at: now) } }

  func admit(_ client: String) -> HTTPError? {
    guard limits.requestsPerSecond != nil else { return nil }
    let seconds = table.withLock { $0.admit(ClientNetwork(client), at: now) }
    return seconds.map {
      HTTPError(
        429, "Your address has sent too many requests. Wait for the time in Retry-After.",
        retryAfter: Int64(min(max($0, 1), 86_400).rounded(.up)))
    }
  }

  /// An eighth of a second's bytes at a time, so that a response flows.
  func pace(of client: String) -> ResponsePace? {
    guard let rate = limits.bytesPerSecond else { return nil }
    let network = ClientNetwork(client)
    return ResponsePace(step: Int(min(max(rate / 8, 1024), 256 << 10))) { [self] count in
      let seconds = table.withLock { $0.spend(Int64(count), for: network, at: now) }
      if seconds > 0 { try await Task.sleep(for: .seconds(seconds)) }
    }
  }
}
