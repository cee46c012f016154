// SPDX-License-Identifier: MIT
import Foundation

/// Parses Retry-After: a number of seconds, or a date (RFC 9110 §10.2.3).
enum RetryAfter {
  /// The longest wait; longer ones are reduced to it.
  static let longest: Int64 = 1 << 31

  /// Returns the wait from `now` on, never negative; nil if the value is neither.
  static func parse(_ value: String, now: Date) -> Duration? {
    let value = value.trimmingOWS
    if let seconds = Int64(saturatingDigits: value, at: longest) { return .seconds(seconds) }
    if value.first == "-", Int64(saturatingDigits: value.dropFirst(), at: longest) != nil {
      return .zero
    }
    guard let date = HTTPDate.parse(String(value), now: now) else { return nil }
    let wait = date.timeIntervalSince(now)
    guard wait > 0 else { return .zero }
    return .seconds(min(wait, Double(longest)))
  }
}
