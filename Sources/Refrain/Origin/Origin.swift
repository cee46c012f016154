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
  /// The user's hook; nil if there is none. Throws `MediaCacheError` and `CancellationError` only.
  let authorize: GroupRenewals.Hook?
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
  private let settings: Mutex<Settings>

  /// What can change while the cache is in use.
  struct Settings: Sendable {
    /// Whether no request is made at all.
    var isOffline: Bool
    var network: NetworkPolicy
  }

  init(
    _ transport: any Transport, _ settings: Settings, retry: RetryPolicy,
    responseTimeout: Duration, silenceTimeout: Duration, bytesPerSecond: Int64?,
    authorize: GroupRenewals.Hook?, isShared: Bool, counters: CacheCounters,
    clock: @escaping @Sendable () -> Moment
  ) {
    self.transport = transport
    self.settings = Mutex(settings)
    self.retry = retry
    (self.responseTimeout, self.silenceTimeout) = (responseTimeout, silenceTimeout)
    self.authorize = authorize
    renewals = GroupRenewals(isSharing: !isShared)
    pace = OriginPace(bytesPerSecond: bytesPerSecond)
    rests = OriginRests(longest: retry.longestDelay)
    self.counters = counters
    self.isShared = isShared
    self.clock = clock
  }

  var now: Moment { clock() }

  var isOffline: Bool { settings.withLock(\.isOffline) }

  func setOffline(_ isOffline: Bool) { settings.withLock { $0.isOffline = isOffline } }

  var network: NetworkPolicy { settings.withLock(\.network) }

  func setNetwork(_ network: NetworkPolicy) { settings.withLock { $0.network = network } }
}
