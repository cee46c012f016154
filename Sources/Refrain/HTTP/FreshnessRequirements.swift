// SPDX-License-Identifier: MIT
package import Foundation

/// The conditions of a request on stored bytes (RFC 9111 §5.2.1). A pure value.
package struct FreshnessRequirements: Sendable, Hashable {
  /// Whether the origin has to confirm the bytes, however fresh they are.
  package var noCache = false
  /// The greatest age, in seconds.
  package var maxAge: Int64?
  /// The seconds for which the bytes must still be fresh.
  package var minFresh: Int64?
  /// The seconds for which the bytes may have been stale, if the origin permits it.
  package var maxStale: Int64?
  /// Bytes confirmed no later than this need revalidation (RFC 9111 §4.4).
  package var notBefore: Date?
  /// When a document that goes on named the resource; nil: none did, or it still names the same one.
  package var listing: Naming?
  /// Whether the requirements are strict: while the origin is unavailable, stale bytes are not used
  /// if it forbids that; and a confirmation for one reader does not serve another.
  package var isStrict = false
  /// Whether stale bytes are used while the origin is unavailable even if it forbids that, although
  /// the requirements are strict.
  package var acceptsForbidden = false

  /// Whether no request may be made (`only-if-cached`).
  package var isOnlyStored = false
  /// Whether an error response is reported at once until the resource is known, if every reader
  /// wants that.
  package var reportsErrors = false
  /// Whether the reader passes on the origin's error response, which then comes with the error
  /// (`MediaCacheError.response`). With `reportsErrors`, an error that may pass is reported only
  /// after a second one, requested at once.
  package var passesOnErrors = false

  /// Whether the request has cookies and the cache serves several people: stored bytes are given
  /// only if they are for everybody. Otherwise opening throws an error with `isPersonal`.
  package var hasCookies = false

  /// Whether the key names the stored entry itself, whatever request headers its response varies by.
  var namesEntry = false

  package init() {}

  /// Returns whether stored bytes may be used without asking the origin.
  package func accept(_ freshness: Freshness, at now: Date) -> Bool {
    if noCache { return false }
    if let notBefore, freshness.confirmedAt <= notBefore { return false }
    if let maxAge, freshness.age(at: now) > Double(maxAge) { return false }
    let remaining = freshness.remaining(at: now)
    if let listing, freshness.confirmedAt < listing.time {
      // A stated lifetime counts unless the document contradicts it.
      if listing.isOther || remaining <= 0 || freshness.isGuessed == true { return false }
    }
    if let minFresh, remaining < Double(minFresh) { return false }
    if remaining > 0 { return true }
    guard let maxStale, freshness.isOutdated != true, !freshness.mustRevalidate else {
      return false
    }
    // The next version of an ongoing document exists already.
    switch freshness.pace {
    case .every, .unread: return false
    case .complete, .unstated, nil: break
    }
    return -remaining <= Double(maxStale)
  }

  /// Whether a document has named another resource by the URL since the bytes were confirmed:
  /// they must not be used unless the origin confirms them.
  func isReplaced(_ freshness: Freshness) -> Bool {
    guard let listing, listing.isOther else { return false }
    return freshness.confirmedAt < listing.time
  }

  /// Returns whether stale bytes may be used while the origin is unavailable (RFC 9111 §4.2.4).
  func acceptUnconfirmed(_ freshness: Freshness?, at now: Date) -> Bool {
    if let freshness, let pace = freshness.pace,
      freshness.age(at: now) > pace.longestUnconfirmedUse
    {
      return false
    }
    if let freshness, isReplaced(freshness) { return false }
    return !isStrict || acceptsForbidden || !(noCache || freshness?.mustRevalidate == true)
  }
}

extension FreshnessRequirements {
  /// When a document named a resource by a URL.
  package struct Naming: Sendable, Hashable {
    package var time: Date
    /// Whether the document shows that this is another resource than it had named so before.
    package var isOther: Bool

    package init(time: Date, isOther: Bool) { (self.time, self.isOther) = (time, isOther) }
  }

  /// The error for a stored response that is not for a request with cookies.
  static var personal: MediaCacheError {
    var error = MediaCacheError(
      .offline, "The stored response is not for requests with cookies.",
      remedy: "Send the request to the origin.")
    error.isPersonal = true
    return error
  }
}
