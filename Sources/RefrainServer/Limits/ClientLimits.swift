// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks
import RefrainProxy

/// What one client may use. A client is an IPv4 address or an IPv6 network (/64): behind a
/// balancer, all of its clients together are one.
public struct ClientLimits: Sendable, Hashable {
  /// The most connections at a time, at least 1; a further one receives 429. Nil: no limit.
  public var connections: Int?

  /// The most requests per second, in the long run, more than 0; two seconds' worth, and at least
  /// ten, may come at once. A further one receives 429 with `Retry-After`. Nil: no limit.
  public var requestsPerSecond: Double?

  /// The most bytes of bodies per second, over all connections, at least 1. Nil: no limit.
  public var bytesPerSecond: Int64?

  public init() {}

  var isEmpty: Bool { self == ClientLimits() }

  /// Throws `.invalidConfiguration` for a limit that permits nothing.
  func check() throws(CacheProxyError) {
    var invalid: String?
    if let connections, connections < 1 { invalid = "\(connections) connections" }
    if let rate = requestsPerSecond, !rate.isFinite || rate <= 0 {
      invalid = "\(rate) requests per second"
    }
    if let rate = bytesPerSecond, rate < 1 { invalid = "\(rate) bytes per second" }
    guard let invalid else { return }
    throw CacheProxyError(
      .invalidConfiguration, "A limit of \(invalid) for each client permits nothing.",
      remedy: "Use a limit above 0, or nil for none.")
  }
}

/// An IPv4 address, or an IPv6 network: one client usually has all of a /64 (RFC 6177 §2).
struct ClientNetwork: Sendable, Hashable {
  private var bytes: [UInt8]

  /// Anything but a numeric address is a client of its own.
  init(_ address: String) {
    let known = NetworkAddress(host: address.prefix { $0 != "%" })
    bytes =
      (known?.mappedIPv4 ?? known).map { Array($0.bytes.prefix(8)) } ?? Array(address.utf8)
  }
}

/// What the clients have used lately. A pure value; times are seconds of one clock.
struct ClientTable: Sendable {
  private struct Use: Sendable {
    var connections = 0
    var requests: TokenBucket?
    var bytes: TokenBucket?
  }

  let limits: ClientLimits
  private var uses: [ClientNetwork: Use] = [:]
  /// The number of clients at which unused ones are forgotten.
  private var sweepCount = ClientTable.leastSweep
  private static let leastSweep = 1024
  /// Never more clients without a connection than this, whatever they have used.
  private static let most = 65_536

  init(_ limits: ClientLimits) { self.limits = limits }

  var count: Int { uses.count }

  /// Counts a connection, unless the client has too many. Balanced by `leave`.
  mutating func enter(_ client: ClientNetwork, at now: Double) -> Bool {
    let connections = uses[client]?.connections ?? 0
    if let most = limits.connections, connections >= most { return false }
    if uses[client] == nil, uses.count >= sweepCount { sweep(at: now) }
    uses[client, default: Use()].connections += 1
    return true
  }

  mutating func leave(_ client: ClientNetwork, at now: Double) {
    uses[client]?.connections -= 1
    forgetIfUnused(client, at: now)
  }

  /// Returns nil if the request is counted; else the seconds until the next one may be served.
  mutating func admit(_ client: ClientNetwork, at now: Double) -> Double? {
    guard let rate = limits.requestsPerSecond else { return nil }
    let full = TokenBucket(rate: rate, capacity: max(2 * rate, 10), at: now)
    return uses[client, default: Use()].requests.use(orElse: full) { $0.take(1, at: now) }
  }

  /// Returns the seconds to wait before more is sent.
  mutating func spend(_ count: Int64, for client: ClientNetwork, at now: Double) -> Double {
    guard let limit = limits.bytesPerSecond else { return 0 }
    let rate = Double(limit)
    let full = TokenBucket(rate: rate, capacity: rate / 4, at: now)
    return uses[client, default: Use()].bytes.use(orElse: full) {
      $0.spend(Double(count), at: now)
    }
  }

  private mutating func forgetIfUnused(_ client: ClientNetwork, at now: Double) {
    guard let use = uses[client], use.connections <= 0, isOver(use, at: now) else { return }
    uses[client] = nil
  }

  private func isOver(_ use: Use, at now: Double) -> Bool {
    use.requests?.isFull(at: now) != false && use.bytes?.isFull(at: now) != false
  }

  private mutating func sweep(at now: Double) {
    uses = uses.filter { $0.value.connections > 0 || !isOver($0.value, at: now) }
    if uses.count >= Self.most { uses = uses.filter { $0.value.connections > 0 } }
    sweepCount = max(Self.leastSweep, 2 * uses.count)
  }
}

extension TokenBucket? {
  fileprivate mutating func use<Result>(
    orElse new: TokenBucket, _ body: (inout TokenBucket) -> Result
  ) -> Result {
    var bucket = self ?? new
    defer { self = bucket }
    return body(&bucket)
  }
}

/// Holds clients to their limits. May be used from any thread.
final class Clients: ClientGate {
  private let limits: ClientLimits
  private let start = ContinuousClock.now
  private let table: Mutex<ClientTable>

  init(_ limits: ClientLimits) {
    self.limits = limits
    table = Mutex(ClientTable(limits))
  }

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

  /// An eighth of a second's bytes, so that a response flows.
  var longestPiece: Int? {
    limits.bytesPerSecond.map { Int(min(max($0 / 8, 1024), 256 << 10)) }
  }

  func pace(_ client: String, after count: Int) async throws {
    guard limits.bytesPerSecond != nil else { return }
    let network = ClientNetwork(client)
    let seconds = table.withLock { $0.spend(Int64(count), for: network, at: now) }
    if seconds > 0 { try await Task.sleep(for: .seconds(seconds)) }
  }
}
