// SPDX-License-Identifier: MIT
import Foundation

/// When a failed request is retried. A pure value.
///
/// A reader that has received bytes is playing: its fetch makes `attempts` attempts. For others, an
/// origin that has no address, refuses the connection, or responds with an error or unusably is
/// asked `firstAttempts` times; once if the failure is permanent (an unknown host, a certificate
/// that does not verify, a response that is not HTTP), or nothing came within
/// `MediaCache.Configuration.responseTimeout`. A response that breaks off after it has brought new
/// bytes is continued at once.
public struct RetryPolicy: Sendable, Hashable {
  /// How many times in a row a fetch may fail without having received a single byte.
  public var attempts = 6
  /// How many times in a row an origin may respond with an error before a reader has received a
  /// byte. The same number, but two at least, applies to refused connections and unusable responses
  /// until then, and to responses that do not come in time afterwards. `attempts` applies as well.
  public var firstAttempts = 2
  /// The delay after the first failure; it doubles with each further one.
  public var firstDelay: Duration = .milliseconds(250)
  /// The longest delay between two attempts, even if Retry-After asks for more.
  public var longestDelay: Duration = .seconds(30)
  /// The longest delay before a reader has received a byte, for an origin that responds with an
  /// error. If Retry-After asks for more, the error is reported at once.
  public var longestFirstDelay: Duration = .seconds(2)
  /// How many times in a row a response may end at the same byte.
  package var cutAttempts = 3

  public init() {}

  enum Failure: Sendable, Hashable {
    /// The origin responded with an error that may pass.
    case answer
    /// The response is unusable, or the host has no address or refused the connection.
    case invalid
    /// The host does not exist, its certificate does not verify, or its response is not HTTP.
    case permanent
    /// A response that can only be read from its start ended at the same byte as before.
    case cutShort
    /// Nothing came for as long as a response may take.
    case silent
    case network
  }

  /// Whether a status may pass: 408, 425 and 429 (RFC 9110 §15.5.9, RFC 8470 §5.2, RFC 6585 §4),
  /// and 5xx except 501, 505 and 508, which say "never" (RFC 9110 §15.6, RFC 5842 §7.2).
  public static func isTransient(status: Int) -> Bool {
    [408, 425, 429].contains(status)
      || (500...599).contains(status) && ![501, 505, 508].contains(status)
  }

  /// Returns the delay after a failure, the `count`th in a row without progress; nil: give up.
  ///
  /// - Parameter gained: the number of new bytes that the failed response brought.
  func delay(
    after failure: Failure, count: Int, isPlaying: Bool, retryAfter: Duration? = nil,
    gained: Int64 = 0
  ) -> Duration? {
    let limit =
      switch (failure, isPlaying) {
      case (.cutShort, _): cutAttempts
      case (.permanent, false), (.silent, false): 1
      case (.answer, false): firstAttempts
      case (.invalid, false), (.silent, true): max(firstAttempts, 2)
      default: attempts
      }
    guard count < min(attempts, limit) else { return nil }
    // An origin that sends less than a head each time is not asked without a pause.
    if count <= 1, gained >= 1 << 10 { return .zero }
    let delay = delay(afterFailures: count, retryAfter: retryAfter)
    guard !isPlaying, failure == .answer || failure == .invalid else { return delay }
    if let retryAfter, retryAfter > longestFirstDelay { return nil }
    return delay.map { max(min($0, longestFirstDelay), .zero) }
  }

  /// Returns the delay before the next attempt after a number of failures in a row without
  /// progress; nil: give up. `retryAfter` is what the origin asked for (RFC 9110 §10.2.3).
  public func delay(afterFailures failures: Int, retryAfter: Duration? = nil) -> Duration? {
    guard failures < attempts else { return nil }
    // Doubled stepwise, up to the longest: a product could overflow, whatever the user set.
    var backoff = max(firstDelay, .zero)
    for _ in 1..<min(max(failures, 1), 65) where backoff < longestDelay { backoff += backoff }
    return max(min(max(backoff, retryAfter ?? .zero), longestDelay), .zero)
  }
}

extension MediaCacheError {
  var failure: RetryPolicy.Failure {
    retry ?? (code == .status ? .answer : code == .invalidResponse ? .invalid : .network)
  }
}

extension HeaderFields {
  /// Returns the wait that Retry-After asks for (RFC 9110 §10.2.3): never negative, and bounded.
  func retryAfter(at now: Date) -> Duration? {
    guard let value = values(of: "Retry-After").first?.trimmingOWS else { return nil }
    if let seconds = Int64(saturatingDigits: value, at: CacheControl.longest) {
      return .seconds(seconds)
    }
    return HTTPDate.parse(String(value)).map { date in
      .seconds(min(max(date.timeIntervalSince(now), 0), Double(CacheControl.longest)))
    }
  }
}

/// Which networks may be used for what. Without effect on Linux, which reports neither the cost of
/// a network nor whether there is one.
public struct NetworkPolicy: Sendable, Hashable {
  public struct Access: Sendable, Hashable {
    /// Cellular networks and personal hotspots (`URLRequest.allowsExpensiveNetworkAccess`).
    public var allowsExpensive: Bool
    /// Networks in Low Data Mode (`URLRequest.allowsConstrainedNetworkAccess`).
    public var allowsConstrained: Bool

    public init(allowsExpensive: Bool = true, allowsConstrained: Bool = true) {
      (self.allowsExpensive, self.allowsConstrained) = (allowsExpensive, allowsConstrained)
    }
  }

  /// The networks for bytes that a player waits for; by default all.
  public var playback = Access()

  /// The networks for bytes that no player waits for: `MediaCache.prefetch`, and filling behind a
  /// player (`FillPolicy.wholeResource`).
  ///
  /// By default networks in Low Data Mode are not allowed. A prefetch that finds no other fails
  /// with `MediaCacheError.Code.networkNotAllowed`.
  public var prefetch = Access(allowsConstrained: false)

  /// Whether a fetch on a device without any network waits for one as long as its reader waits,
  /// which uses up none of `RetryPolicy.attempts`. False: it is retried by `RetryPolicy`, and ends
  /// in `MediaCacheError.Code.unreachable`. A device that has only networks that the request may
  /// not use counts as having one. Revalidation never waits: stored bytes play.
  public var waitsForConnectivity = true

  public init() {}
}
