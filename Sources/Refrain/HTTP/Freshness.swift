// SPDX-License-Identifier: MIT
package import Foundation

/// For how long a stored response may be used without asking the origin again (RFC 9111 §4.2).
/// Stored with the entry.
package struct Freshness: Codable, Sendable, Hashable {
  /// When the response that says so came.
  package var confirmedAt: Date
  /// The same by a clock that nobody can set.
  var confirmedUptime: Uptime?
  /// How old it was then, in seconds (RFC 9111 §4.2.3, `corrected_initial_age`).
  var initialAge: Double
  /// At which age it gets stale, in seconds.
  package var lifetime: Double
  /// Once stale, it must not be used where the origin cannot be asked (RFC 9111 §4.2.4).
  package var mustRevalidate: Bool
  /// It must leave nothing behind (RFC 9111 §3, §5.2.2.5).
  package var noStore: Bool
  /// The origin did not say how long, so that the lifetime is a guess (RFC 9111 §4.2.2).
  package var isGuessed: Bool?
  /// It was found out to have changed, or a request was made that may have changed it
  /// (RFC 9111 §4.4): stale, until the origin confirms it.
  var isOutdated: Bool?
  /// How soon the origin changes it, as its bytes say; nil where it is no manifest.
  package var pace: UpdatePace?

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

  /// Who keeps the response, and for whom it was asked.
  struct Keeper: Sendable, Hashable {
    /// It serves more than one person.
    var isShared = false
    /// The request had credentials, in Authorization.
    var isAuthorized = false
    /// The request had cookies.
    var hasCookies = false
  }

  init(
    status: Int, headers: HTTPFields, requestTime: Date, responseTime: Date,
    keeper: Keeper = Keeper()
  ) {
    let targeted = keeper.isShared ? CacheControl(targetedBy: headers) : nil
    let control = targeted ?? CacheControl(headers["Cache-Control"])
    confirmedAt = responseTime
    mustRevalidate =
      control.mustRevalidate || control.noCache
      || (keeper.isShared && (control.proxyRevalidate || control.sharedMaxAge != nil))
    noStore = control.noStore || (keeper.isShared && !Self.isSharable(control, headers, keeper))
    initialAge = Self.initialAge(headers, requestTime, responseTime)
    let stated =
      Self.isAgeInvalid(headers)
      ? 0 : Self.lifetime(headers, control, responseTime, keeper, hasExpires: targeted == nil)
    isGuessed = stated == nil ? true : nil
    lifetime = stated ?? Self.guess(status, headers, responseTime)
  }

  /// RFC 9111 §3, §3.5, §7.3: what sets a cookie is for one person, and so is what was asked with
  /// cookies, unless the origin says that it is for everybody.
  private static func isSharable(
    _ control: CacheControl, _ headers: HTTPFields, _ keeper: Keeper
  ) -> Bool {
    if control.isPrivate || headers["Set-Cookie"] != nil { return false }
    if keeper.hasCookies, !control.isForEverybody { return false }
    return !keeper.isAuthorized || control.isPublic || control.mustRevalidate
      || control.sharedMaxAge != nil
  }

  /// Whether it may be used at that time without asking.
  ///
  /// A clock that was set back leaves the age where it was when the response came; if it was set
  /// back by more than the lifetime, nothing it says is trusted, and the answer is no.
  package func isFresh(at now: Date) -> Bool { remaining(at: now) > 0 }

  /// Seconds until it gets stale; since it got stale, negative.
  package func remaining(at now: Date) -> Double {
    let elapsed = now.timeIntervalSince(confirmedAt)
    let lifetime = min(lifetime, pace?.longestUse ?? .infinity)
    guard elapsed >= -lifetime, isOutdated != true else { return -.infinity }
    return lifetime - age(at: now)
  }

  /// Seconds since the origin made or confirmed the response (RFC 9111 §4.2.3).
  package func age(at now: Date) -> Double {
    initialAge + max(now.timeIntervalSince(confirmedAt), 0)
  }

  /// The freshness after a 304 (RFC 9111 §4.3.4): what the 304 says anew holds, and the rest stays.
  ///
  /// - Parameters:
  ///   - headers: of the 304.
  ///   - merged: the stored fields with these in them (RFC 9111 §3.2); nil where no fields had been
  ///     stored, as in records of before.
  func confirmed(
    by headers: HTTPFields, merged: HTTPFields? = nil, requestTime: Date, responseTime: Date,
    keeper: Keeper = Keeper()
  ) -> Freshness {
    if var all = merged {
      all["Age"] = headers["Age"]
      // Never stored, and for one person all the same.
      all["Set-Cookie"] = headers["Set-Cookie"]
      return Freshness(
        status: 200, headers: all, requestTime: requestTime, responseTime: responseTime,
        keeper: keeper)
    }
    if ["Cache-Control", "Expires", "CDN-Cache-Control"].contains(where: { headers[$0] != nil }) {
      return Freshness(
        status: 200, headers: headers, requestTime: requestTime, responseTime: responseTime,
        keeper: keeper)
    }
    var next = self
    next.isOutdated = nil
    next.confirmedAt = responseTime
    next.confirmedUptime = nil
    next.initialAge = Self.initialAge(headers, requestTime, responseTime)
    if keeper.isShared, headers["Set-Cookie"] != nil { next.noStore = true }
    return next
  }

  /// Stale, until the origin confirms it.
  var outdated: Freshness {
    var outdated = self
    outdated.isOutdated = true
    return outdated
  }

  private static func initialAge(
    _ headers: HTTPFields, _ requestTime: Date, _ responseTime: Date
  ) -> Double {
    let sent = headers["Date"].flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
    let apparent = responseTime.timeIntervalSince(sent)
    let delay = responseTime.timeIntervalSince(requestTime)
    return bounded(max(apparent, Double(statedAge(headers) ?? 0) + bounded(delay)))
  }

  /// The first member of Age, where it is a number (RFC 9111 §5.1).
  private static func statedAge(_ headers: HTTPFields) -> Int64? {
    guard let field = headers.values(of: "Age").first else { return nil }
    let first = field.prefix { $0 != "," }.trimmingOWS
    return Int64(saturatingDigits: first, at: CacheControl.longest)
  }

  /// A response of which nobody knows how old it is counts as stale: RFC 9111 §4.2 encourages that
  /// for any information on freshness that is invalid.
  private static func isAgeInvalid(_ headers: HTTPFields) -> Bool {
    headers["Age"] != nil && statedAge(headers) == nil
  }

  /// What the origin says; nil where it says nothing.
  private static func lifetime(
    _ headers: HTTPFields, _ control: CacheControl, _ responseTime: Date, _ keeper: Keeper,
    hasExpires: Bool
  ) -> Double? {
    // `Vary: *`: no request matches but the one that was answered (RFC 9111 §4.1).
    let variesByAnything = headers["Vary"]?.split(separator: ",").contains {
      $0.trimmingOWS == "*"
    }
    if control.noStore || control.noCache || variesByAnything == true { return 0 }
    if keeper.isShared, let maxAge = control.sharedMaxAge { return Double(maxAge) }
    if let maxAge = control.maxAge { return Double(maxAge) }

    let sent = headers["Date"].flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
    if hasExpires, let expires = headers.values(of: "Expires").first {
      // What is no date to the letter, "0" above all, lies in the past (RFC 9111 §5.3).
      let date = HTTPDate.parse(expires, now: responseTime, .strict)
      return bounded(date?.timeIntervalSince(sent) ?? 0)
    }
    return nil
  }

  /// RFC 9111 §4.2.2.
  private static func guess(_ status: Int, _ headers: HTTPFields, _ responseTime: Date) -> Double {
    guard isHeuristicallyCacheable(status),
      let modified = headers["Last-Modified"].flatMap({
        HTTPDate.parse($0, now: responseTime, .strict)
      })
    else { return 0 }
    let sent = headers["Date"].flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
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
