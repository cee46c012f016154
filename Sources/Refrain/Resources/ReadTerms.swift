// SPDX-License-Identifier: MIT
package import Foundation

/// The terms on which stored bytes are read. A pure value.
package struct ReadTerms: Sendable {
  package var directives = RequestDirectives()
  package var audience = Audience.player
  /// Bytes confirmed no later than this need revalidation (RFC 9111 §4.4).
  package var notBefore: Date?
  /// When a document that goes on named the resource; nil: none did.
  package var listing: Naming?
  /// Whether stale bytes may be used while the origin is unavailable even if it forbids that.
  package var acceptsForbidden = false
  /// Whether stale bytes are used as the origin states: at once, if the opener may confirm them
  /// meanwhile (RFC 5861 §3); for no longer than permitted while the origin is unavailable (§4).
  package var followsStaleDirectives = false
  /// Whether the reader passes on a response that is not stored (`MediaCacheError.response`).
  package var passesOnErrors = false
  /// Receives interim responses (`OriginRequest.onInterim`) to the reader's own request.
  package var onInterim: (@Sendable (Int, HeaderFields) -> Void)?
  /// Whether the request has cookies and the cache serves several people: opening throws
  /// `MediaCacheError.personal` unless the stored bytes are for everybody.
  package var hasCookies = false
  /// Whether the key names the stored entry itself, whatever its response varies by.
  var namesEntry = false

  package enum Audience: Sendable, Hashable {
    /// A confirmation serves other readers too, and so do stale bytes without the origin.
    case player
    /// A client to which RFC 9111 applies.
    case client
  }

  /// `isOther`: the document shows that this is another resource than it had named so before.
  package typealias Naming = (time: Date, isOther: Bool)

  package init() {}

  /// Returns whether stored bytes may be used without asking the origin.
  package func accept(_ freshness: Freshness, at now: Date) -> Bool {
    if let notBefore, freshness.confirmedAt <= notBefore { return false }
    // A stated lifetime counts unless the document contradicts it.
    if let listing, freshness.confirmedAt < listing.time,
      listing.isOther || freshness.remaining(at: now) <= 0 || freshness.isGuessed == true
    {
      return false
    }
    if directives.accept(freshness, at: now) { return true }
    let limitsAge = directives.noCache || directives.maxAge != nil || directives.minFresh != nil
    return followsStaleDirectives && !limitsAge && freshness.isUsableWhileConfirmed(at: now)
  }

  /// Whether a document has named another resource by the URL since the bytes were confirmed.
  func isReplaced(_ freshness: Freshness) -> Bool {
    listing.map { $0.isOther && freshness.confirmedAt < $0.time } ?? false
  }

  /// Returns whether stale bytes may be used while the origin is unavailable (RFC 9111 §4.2.4).
  func acceptUnconfirmed(_ freshness: Freshness?, at now: Date) -> Bool {
    if let freshness {
      if freshness.age(at: now) > freshness.pace?.longestUnconfirmedUse ?? .infinity {
        return false
      }
      if isReplaced(freshness) { return false }
      if followsStaleDirectives, let limit = freshness.staleIfError,
        freshness.age(at: now) - freshness.lifetime > limit
      {
        return false
      }
    }
    return audience == .player || acceptsForbidden
      || !(directives.noCache || freshness?.mustRevalidate == true)
  }
}

/// A client's cache directives: Cache-Control of a request (RFC 9111 §5.2.1). Times in seconds.
package struct RequestDirectives: Sendable {
  package var noCache = false
  package var noStore = false
  package var onlyIfCached = false
  package var maxAge: Int64?
  /// `Int64.max` without a number.
  package var maxStale: Int64?
  package var minFresh: Int64?

  package init() {}

  package init(_ fields: HeaderFields) {
    let control = CacheControl(fields["Cache-Control"] ?? "")
    (noCache, noStore) = (control.noCache, control.noStore)
    onlyIfCached = control.has("only-if-cached")
    (maxAge, minFresh) = (control.number("max-age"), control.number("min-fresh"))
    let isUnlimited = control.arguments["max-stale"] == .some(nil)
    maxStale = isUnlimited ? .max : control.number("max-stale")
  }

  func accept(_ freshness: Freshness, at now: Date) -> Bool {
    if noCache { return false }
    if let maxAge, freshness.age(at: now) > Double(maxAge) { return false }
    let remaining = freshness.remaining(at: now)
    if let minFresh, remaining < Double(minFresh) { return false }
    if remaining > 0 { return true }
    // The next version of an ongoing document exists already.
    guard let maxStale, freshness.isOutdated != true, !freshness.mustRevalidate,
      freshness.pace?.longestUse.isFinite != true
    else { return false }
    return -remaining <= Double(maxStale)
  }
}
