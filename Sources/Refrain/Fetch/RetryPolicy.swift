// SPDX-License-Identifier: MIT

/// When a failed request is tried again. A pure value.
public struct RetryPolicy: Sendable, Hashable {
  /// How many times in a row a fetch may fail without having received a single byte.
  public var attempts = 6
  /// The wait after the first failure; it doubles with each further one.
  public var firstDelay: Duration = .milliseconds(250)
  /// The longest wait between two tries, also where Retry-After asks for more.
  public var longestDelay: Duration = .seconds(30)

  public init() {}

  /// Statuses that may pass: Request Timeout, Too Many Requests, and the server errors
  /// (RFC 9110 §15.5.9, RFC 6585 §4, RFC 9110 §15.6) that do not say "never".
  public static func isTransient(status: Int) -> Bool {
    switch status {
    case 408, 425, 429: true
    case 501, 505: false
    case 500...599: true
    default: false
    }
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
