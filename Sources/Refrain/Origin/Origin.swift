// SPDX-License-Identifier: MIT
import RefrainLocks

/// What the requests of a cache to its origins share: the transport, the settings, and what origins have
/// asked for or are known to do. Knows nothing of what is stored.
///
/// May be used from any thread.
final class Origin: Sendable {
  let transport: any Transport
  let retry: RetryPolicy
  /// The longest silence before the head of a response.
  let responseTimeout: Duration
  /// The longest silence within a body.
  let silenceTimeout: Duration
  /// Whether the cache serves several people.
  let isShared: Bool
  let renewals: GroupRenewals
  let pace: OriginPace
  let silence = SilenceTimeout()
  let counters = CacheCounters()
  private let clock: @Sendable () -> Moment
  /// No lock, since it is read for each response.
  private let isOff: Atomic<Bool>

  /// What is asked about or changed once for a request.
  struct Memory: Sendable {
    var network: NetworkPolicy
    var rests: OriginRests
    var moved = MovedResources()
    var redirected = RedirectedResponses()
  }

  private let memory: Mutex<Memory>

  init(
    _ transport: any Transport, isOffline: Bool, network: NetworkPolicy, retry: RetryPolicy,
    responseTimeout: Duration, silenceTimeout: Duration, bytesPerSecond: Int64?,
    authorize: GroupRenewals.Hook?, isShared: Bool, clock: @escaping @Sendable () -> Moment
  ) {
    self.transport = transport
    self.retry = retry
    (self.responseTimeout, self.silenceTimeout) = (responseTimeout, silenceTimeout)
    self.isShared = isShared
    self.clock = clock
    renewals = GroupRenewals(isSharing: !isShared, hook: authorize)
    pace = OriginPace(bytesPerSecond: bytesPerSecond)
    isOff = Atomic(isOffline)
    memory = Mutex(Memory(network: network, rests: OriginRests(longest: retry.longestDelay)))
  }

  var now: Moment { clock() }

  /// Asks about origins, or changes what is known of them. `body` must only compute.
  func withMemory<Result: Sendable>(_ body: (inout Memory) -> Result) -> Result {
    memory.withLock { body(&$0) }
  }

  /// Whether no request is made at all.
  var isOffline: Bool {
    get { isOff.load(ordering: .acquiring) }
    set { isOff.store(newValue, ordering: .releasing) }
  }

  var network: NetworkPolicy {
    get { memory.withLock { $0.network } }
    set { memory.withLock { $0.network = newValue } }
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
