// SPDX-License-Identifier: MIT
package import Foundation

/// What a request wants of stored bytes before it takes them (RFC 9111 §5.2.1). A pure value.
package struct FreshnessRequirements: Sendable, Hashable {
  /// The origin has to confirm them, however fresh they are.
  package var noCache = false
  /// The greatest age, in seconds.
  package var maxAge: Int64?
  /// For so many seconds more they have to be fresh.
  package var minFresh: Int64?
  /// For so many seconds they may have been stale, where the origin does not forbid it.
  package var maxStale: Int64?
  /// What was stored before is not taken without being confirmed (RFC 9111 §4.4).
  package var notBefore: Date?
  /// What the origin forbids to use stale is not used where it cannot be asked, nor does one reader
  /// vouch for another.
  package var isStrict = false

  /// Stands for the credentials of the request; what is stored is given only to those that the origin
  /// gave it to, or confirmed it to. Nil: to any.
  package var credentials: String?
  /// The origin is not asked whether what is stored may be given.
  package var isOnlyStored = false
  /// Until the resource is known, an error that the origin answers is reported at once: the reader
  /// itself asks once more, and hands on the answer.
  package var reportsErrors = false

  /// The request has cookies, and the cache serves several people: what is stored is given only where
  /// it is for everybody. Otherwise opening throws an error with `isPersonal`.
  package var hasCookies = false

  package init() {}

  /// Whether what is stored may be taken without asking the origin.
  package func accept(_ freshness: Freshness, at now: Date) -> Bool {
    if noCache { return false }
    if let notBefore, freshness.confirmedAt <= notBefore { return false }
    if let maxAge, freshness.age(at: now) > Double(maxAge) { return false }
    let remaining = freshness.remaining(at: now)
    if let minFresh, remaining < Double(minFresh) { return false }
    if remaining > 0 { return true }
    guard let maxStale, !freshness.mustRevalidate else { return false }
    return -remaining <= Double(maxStale)
  }

  /// Whether what is stale may be taken where the origin cannot be asked (RFC 9111 §4.2.4).
  func acceptUnconfirmed(_ freshness: Freshness?, at now: Date) -> Bool {
    if let freshness, let pace = freshness.pace,
      freshness.age(at: now) > pace.longestUnconfirmedUse
    {
      return false
    }
    return !isStrict || !(noCache || freshness?.mustRevalidate == true)
  }
}

extension FreshnessRequirements {
  /// A response is stored, and not for a request with cookies.
  static var personal: MediaCacheError {
    var error = MediaCacheError(
      .notFound, "What is stored is not for requests with cookies.",
      remedy: "Send the request to the origin.")
    error.isPersonal = true
    return error
  }
}
