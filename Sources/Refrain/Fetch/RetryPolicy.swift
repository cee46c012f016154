// SPDX-License-Identifier: MIT

/// When a failed request is tried again. A pure value.
///
/// A reader that has been given bytes is playing: an outage is waited out with `attempts`. Before
/// that, whoever waits wants to know soon what is wrong: an origin that answers with an error, or
/// refuses the connection, is asked `firstAttempts` times, and what cannot get better (a host that
/// does not exist, a certificate that does not verify, an answer that is not HTTP) once.
///
/// Retry-After of a 503 holds for every reader of the resource, and that of a 429 for every reader with
/// the same credentials: until then, though for `longestDelay` at most, none of them makes a request.
public struct RetryPolicy: Sendable, Hashable {
  /// How many times in a row a fetch may fail without having received a single byte.
  public var attempts = 6
  /// How many times in a row an origin may answer with an error, or refuse the connection, while
  /// nobody has been given a byte yet. `attempts` holds as well.
  public var firstAttempts = 2
  /// The wait after the first failure; it doubles with each further one.
  public var firstDelay: Duration = .milliseconds(250)
  /// The longest wait between two tries, also where Retry-After asks for more.
  public var longestDelay: Duration = .seconds(30)
  /// The longest wait while nobody has been given a byte yet, for an origin that answers with an
  /// error. Where Retry-After asks for more, the error is reported at once.
  public var longestFirstDelay: Duration = .seconds(2)

  public init() {}

  /// What failed, as far as trying again is concerned.
  enum Failure: Sendable, Hashable, CaseIterable {
    /// The origin answered with an error that may pass, or broke the rules of HTTP.
    case answer
    /// The host refused the connection.
    case refused
    /// The host does not exist, its certificate does not verify, or its answer is not HTTP.
    case permanent
    /// A response that can only be read from its start ended at the same byte as before.
    case cutShort
    /// The network, or anything else.
    case network
  }

  /// How many times in a row a response may end at the same byte.
  package var cutAttempts = 3

  /// Statuses that may pass: Request Timeout, Too Many Requests, and the server errors
  /// (RFC 9110 §15.5.9, RFC 6585 §4, RFC 9110 §15.6) that do not say "never", as 508 does
  /// (RFC 5842 §7.2).
  public static func isTransient(status: Int) -> Bool {
    switch status {
    case 408, 425, 429: true
    case 501, 505, 508: false
    case 500...599: true
    default: false
    }
  }

  /// Returns how long to wait after a failure, or nil to give up.
  ///
  /// - Parameters:
  ///   - count: failures in a row without progress, this one included.
  ///   - isPlaying: a reader has been given bytes.
  ///   - retryAfter: what the origin asked for (RFC 9110 §10.2.3).
  func delay(
    after failure: Failure, count: Int, isPlaying: Bool, retryAfter: Duration? = nil
  ) -> Duration? {
    let isShort = !isPlaying && (failure == .answer || failure == .refused)
    let limit =
      switch failure {
      case .cutShort: min(attempts, cutAttempts)
      case .permanent where !isPlaying: min(attempts, 1)
      case _ where isShort: min(attempts, firstAttempts)
      default: attempts
      }
    guard count < limit else { return nil }
    if isShort, let retryAfter, retryAfter > longestFirstDelay { return nil }
    let delay = delay(afterFailures: count, retryAfter: retryAfter)
    return isShort ? delay.map { max(min($0, longestFirstDelay), .zero) } : delay
  }

  /// How long to wait after the `failures`-th failure in a row without progress, or nil to give up.
  ///
  /// - Parameter retryAfter: what the origin asked for (RFC 9110 §10.2.3).
  public func delay(afterFailures failures: Int, retryAfter: Duration? = nil) -> Duration? {
    guard failures < attempts else { return nil }
    // Step by step, and only up to the longest: a product could overflow, whatever the user set.
    var backoff = max(firstDelay, .zero)
    var doublings = min(max(failures, 1) - 1, 64)
    while doublings > 0, backoff < longestDelay {
      backoff += backoff
      doublings -= 1
    }
    return max(min(max(backoff, retryAfter ?? .zero), longestDelay), .zero)
  }
}

extension MediaCacheError {
  /// What kind of failure this is for `RetryPolicy`.
  var failure: RetryPolicy.Failure {
    if let retry { return retry }
    switch code {
    case .status, .invalidResponse: return .answer
    default: return .network
    }
  }
}
