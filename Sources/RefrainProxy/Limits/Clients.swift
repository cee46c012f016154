// SPDX-License-Identifier: MIT
import NIOCore
import Refrain
import RefrainLocks

/// Holds the clients of a proxy to their limits. May be used from any thread.
final class Clients: Sendable {
  private let limits: CacheProxy.ClientLimits
  private let table: Mutex<ClientTable>

  init(_ limits: CacheProxy.ClientLimits) {
    self.limits = limits
    table = Mutex(ClientTable(limits))
  }

  /// Whether requests or their responses are limited.
  var areLimited: Bool { limits.requestsPerSecond != nil || areSlowed }

  /// Whether responses have a rate.
  var areSlowed: Bool { limits.bytesPerSecond != nil }

  private static var now: Double { Double(NIODeadline.now().uptimeNanoseconds) / 1e9 }

  /// Counts a connection. Balanced by `leave` if it is accepted.
  ///
  /// - Returns: the error with which it is refused; nil if it is accepted.
  func enter(_ client: ClientNetwork) -> HTTPError? {
    let isAccepted = table.withLock { $0.enter(client, at: Self.now) }
    return isAccepted
      ? nil
      : HTTPError(429, "Your address has too many connections. Close some first.", retryAfter: 1)
  }

  func leave(_ client: ClientNetwork) { table.withLock { $0.leave(client, at: Self.now) } }

  /// Counts a request. Returns the error with which it is refused; nil if it may be served.
  func admit(_ client: ClientNetwork) -> HTTPError? {
    let seconds = table.withLock { $0.admit(client, at: Self.now) }
    return seconds.map {
      HTTPError(
        429, "Your address has sent too many requests. Wait for the time in Retry-After.",
        retryAfter: Int64(min(max($0, 1), 86_400).rounded(.up)))
    }
  }

  /// Returns the pace of a client's responses; nil if they have none.
  func pace(of client: ClientNetwork) -> ClientPace? {
    limits.bytesPerSecond.map {
      ClientPace(clients: self, client: client, step: Int(min(max($0 / 8, 1024), 256 << 10)))
    }
  }

  fileprivate func delay(after count: Int64, for client: ClientNetwork) -> Double {
    table.withLock { $0.spend(count, for: client, at: Self.now) }
  }
}

/// Bounds the rate of one client's responses.
struct ClientPace: Sendable {
  fileprivate let clients: Clients
  fileprivate let client: ClientNetwork

  /// The most bytes to send at a time: an eighth of a second's, so that a response flows.
  let step: Int

  /// Counts bytes that are sent, and waits until more may be.
  ///
  /// - Throws: `CancellationError` once the client has left.
  func wait(after count: Int) async throws {
    let seconds = clients.delay(after: Int64(count), for: client)
    if seconds > 0 { try await Task.sleep(for: .seconds(seconds)) }
  }
}
