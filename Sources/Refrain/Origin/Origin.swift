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
  let renewals: GroupRenewals
  let pace: OriginPace
  let rests: OriginRests
  let counters: CacheCounters
  /// Whether the cache serves several people.
  let isShared: Bool
  let silence = SilenceTimeout()
  let moved = MovedResources()
  let redirected = RedirectedResponses()
  private let clock: @Sendable () -> Moment
  private let policy: Mutex<NetworkPolicy>
  /// No lock, since it is read for each response.
  private let isOff: Atomic<Bool>

  init(
    _ transport: any Transport, isOffline: Bool, network: NetworkPolicy, retry: RetryPolicy,
    responseTimeout: Duration, silenceTimeout: Duration, bytesPerSecond: Int64?,
    authorize: GroupRenewals.Hook?, isShared: Bool, counters: CacheCounters,
    clock: @escaping @Sendable () -> Moment
  ) {
    self.transport = transport
    policy = Mutex(network)
    isOff = Atomic(isOffline)
    self.retry = retry
    (self.responseTimeout, self.silenceTimeout) = (responseTimeout, silenceTimeout)
    renewals = GroupRenewals(isSharing: !isShared, hook: authorize)
    pace = OriginPace(bytesPerSecond: bytesPerSecond)
    rests = OriginRests(longest: retry.longestDelay)
    self.counters = counters
    self.isShared = isShared
    self.clock = clock
  }

  var now: Moment { clock() }

  /// Whether no request is made at all.
  var isOffline: Bool {
    get { isOff.load(ordering: .acquiring) }
    set { isOff.store(newValue, ordering: .releasing) }
  }

  var network: NetworkPolicy {
    get { policy.withLock { $0 } }
    set { policy.withLock { $0 = newValue } }
  }
}
