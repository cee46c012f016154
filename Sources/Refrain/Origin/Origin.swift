// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// What the requests of a cache to its origins share: the transport, the settings, and what origins have
/// asked for or are known to do. Knows nothing of what is stored. May be used from any thread.
final class Origin: Sendable {
  /// The user's hook, which gives a request in place of a refused one.
  typealias Authorize = @Sendable (Resource, _ status: Int) async throws -> Resource?

  let transport: any Transport
  let retry: RetryPolicy
  let responseTimeout: Duration
  let silenceTimeout: Duration
  /// Whether the cache serves several people.
  let isShared: Bool
  /// Nil: every refusal stays.
  let authorize: Authorize?
  let authorizations = JoinedCalls<CacheKey, EntryRequests.HookResult?>()
  let counters = CacheCounters()
  private let clock: @Sendable () -> Moment
  /// No lock, since it is read for each response.
  private let isOff: Atomic<Bool>

  struct Memory: Sendable {
    var network: NetworkPolicy
    var pace: OriginPace
    /// What the hook has changed for groups. Never on disk, since it is secret.
    var renewals: [GroupRenewal] = []
    /// What libraries over the core know of origins, one value of each type: as long as this lives,
    /// or until everything is removed from the cache.
    var companions: [ObjectIdentifier: any Sendable] = [:]
  }

  private let memory: Mutex<Memory>

  init(
    _ transport: any Transport, isOffline: Bool, network: NetworkPolicy, retry: RetryPolicy,
    responseTimeout: Duration, silenceTimeout: Duration, bytesPerSecond: Int64?,
    authorize: Authorize?, isShared: Bool, clock: @escaping @Sendable () -> Moment
  ) {
    self.transport = transport
    self.retry = retry
    (self.responseTimeout, self.silenceTimeout) = (responseTimeout, silenceTimeout)
    (self.isShared, self.authorize) = (isShared, authorize)
    self.clock = clock
    isOff = Atomic(isOffline)
    memory = Mutex(
      Memory(
        network: network, pace: OriginPace(bytesPerSecond: bytesPerSecond)))
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

/// Counts the work of a cache since it was opened. May be used from any thread.
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
