// SPDX-License-Identifier: MIT
import Foundation

/// For how long a stored response may be used without asking the origin again: RFC 9111 §4.2, for a
/// private cache. Stored with the entry.
struct Freshness: Codable, Sendable, Hashable {
  /// When the response that says so came.
  var confirmedAt: Date
  /// How old it was then, in seconds (RFC 9111 §4.2.3, `corrected_initial_age`).
  var initialAge: Double
  /// At which age it gets stale, in seconds.
  var lifetime: Double
  /// Once stale, it must not be used where the origin cannot be asked (RFC 9111 §5.2.2.2).
  var mustRevalidate: Bool
  /// It must leave nothing behind (RFC 9111 §5.2.2.5).
  var noStore: Bool

  /// The longest lifetime that is guessed where the origin gives none: a day (RFC 9111 §4.2.2).
  static let longestHeuristic: Double = 24 * 3600

  init(
    confirmedAt: Date, initialAge: Double = 0, lifetime: Double, mustRevalidate: Bool = false,
    noStore: Bool = false
  ) {
    self.confirmedAt = confirmedAt
    self.initialAge = initialAge
    self.lifetime = lifetime
    self.mustRevalidate = mustRevalidate
    self.noStore = noStore
  }

  init(status: Int, headers: HTTPFields, requestTime: Date, responseTime: Date) {
    let control = CacheControl(headers["Cache-Control"])
    confirmedAt = responseTime
    mustRevalidate = control.mustRevalidate
    noStore = control.noStore
    initialAge = Self.initialAge(headers, requestTime, responseTime)
    lifetime = Self.lifetime(status, headers, control, responseTime)
  }

  /// Whether it may be used at that time without asking.
  ///
  /// A clock that was set back leaves the age where it was when the response came; if it was set
  /// back by more than the lifetime, nothing it says is trusted, and the answer is no.
  func isFresh(at now: Date) -> Bool {
    let elapsed = now.timeIntervalSince(confirmedAt)
    guard elapsed >= -lifetime else { return false }
    return lifetime > initialAge + max(elapsed, 0)
  }

  /// The freshness after a 304 (RFC 9111 §4.3.4): what the 304 says anew holds, and the rest stays.
  func confirmed(by headers: HTTPFields, requestTime: Date, responseTime: Date) -> Freshness {
    if headers["Cache-Control"] != nil || headers["Expires"] != nil {
      return Freshness(
        status: 200, headers: headers, requestTime: requestTime, responseTime: responseTime)
    }
    var next = self
    next.confirmedAt = responseTime
    next.initialAge = Self.initialAge(headers, requestTime, responseTime)
    return next
  }

  /// As if its lifetime had run out.
  var outdated: Freshness {
    var outdated = self
    outdated.lifetime = 0
    return outdated
  }

  private static func initialAge(
    _ headers: HTTPFields, _ requestTime: Date, _ responseTime: Date
  ) -> Double {
    let sent = headers["Date"].flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
    let apparent = responseTime.timeIntervalSince(sent)
    let delay = responseTime.timeIntervalSince(requestTime)
    // Of several the first; one that is no number is ignored (RFC 9111 §5.1).
    let stated = headers.values(of: "Age").first.flatMap {
      Int64(saturatingDigits: $0.trimmingOWS, at: CacheControl.longest)
    }
    return bounded(max(apparent, Double(stated ?? 0) + bounded(delay)))
  }

  private static func lifetime(
    _ status: Int, _ headers: HTTPFields, _ control: CacheControl, _ responseTime: Date
  ) -> Double {
    // `Vary: *`: no request matches but the one that was answered (RFC 9111 §4.1).
    let variesByAnything = headers["Vary"]?.split(separator: ",").contains {
      $0.trimmingOWS == "*"
    }
    if control.noStore || control.noCache || variesByAnything == true { return 0 }
    if let maxAge = control.maxAge { return Double(maxAge) }

    let sent = headers["Date"].flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
    if let expires = headers.values(of: "Expires").first {
      // What is no date, "0" above all, lies in the past (RFC 9111 §5.3).
      return bounded(HTTPDate.parse(expires, now: responseTime)?.timeIntervalSince(sent) ?? 0)
    }
    guard isHeuristicallyCacheable(status),
      let modified = headers["Last-Modified"].flatMap({ HTTPDate.parse($0, now: responseTime) })
    else { return 0 }
    return min(bounded(sent.timeIntervalSince(modified)) / 10, longestHeuristic)
  }

  /// RFC 9110 §15.1.
  private static func isHeuristicallyCacheable(_ status: Int) -> Bool {
    switch status {
    case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
    default: false
    }
  }

  /// Never negative, never infinite, so that it can be stored and added up.
  private static func bounded(_ seconds: Double) -> Double {
    seconds.isNaN ? 0 : min(max(seconds, 0), Double(CacheControl.longest))
  }
}
