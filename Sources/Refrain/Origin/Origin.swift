// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// What all requests of a cache share, but for what is stored. May be used from any thread.
final class Origin: Sendable {
  typealias Authorize = @Sendable (Resource, _ status: Int) async throws -> Resource?
  typealias Authorization = (refused: Resource, isRenewed: Bool)

  let transport: any Transport
  let retry: RetryPolicy
  let responseTimeout: Duration
  let silenceTimeout: Duration
  let isShared: Bool
  let authorize: Authorize?
  let authorizations = JoinedCalls<CacheKey, Authorization>()
  let counters = CacheCounters()
  private let clock: @Sendable () -> Moment
  /// No lock, since it is read for each response.
  private let isOff: Atomic<Bool>

  struct Memory: Sendable {
    var network: NetworkPolicy
    var pace: OriginPace
    /// Never on disk, since they are secret.
    var renewals: [Renewal] = []
    /// What libraries over the core know of origins, one value of each type.
    var companions: [ObjectIdentifier: any Sendable] = [:]
  }

  private let memory: Mutex<Memory>

  init(
    _ transport: any Transport, isOffline: Bool, network: NetworkPolicy, retry: RetryPolicy,
    responseTimeout: Duration, silenceTimeout: Duration, bytesPerSecond: Int64?,
    authorize: Authorize?, isShared: Bool, clock: @escaping @Sendable () -> Moment
  ) {
    (self.transport, self.retry, self.clock) = (transport, retry, clock)
    (self.responseTimeout, self.silenceTimeout) = (responseTimeout, silenceTimeout)
    (self.isShared, self.authorize) = (isShared, authorize)
    isOff = Atomic(isOffline)
    memory = Mutex(Memory(network: network, pace: OriginPace(bytesPerSecond: bytesPerSecond)))
  }

  var now: Moment { clock() }

  /// `body` must only compute.
  func withMemory<Result: Sendable>(_ body: (inout Memory) -> Result) -> Result {
    memory.withLock { body(&$0) }
  }

  var isOffline: Bool {
    get { isOff.load(ordering: .acquiring) }
    set { isOff.store(newValue, ordering: .releasing) }
  }
}

final class CacheCounters: Sendable {
  let originRequests = Atomic<Int64>(0)
  let originBytes = Atomic<Int64>(0)
  let evictions = Atomic<Int64>(0)
  let evictedBytes = Atomic<Int64>(0)

  func noteEvicted(_ bytes: Int64) {
    evictions.add(1, ordering: .relaxed)
    evictedBytes.add(bytes, ordering: .relaxed)
  }
}
