// SPDX-License-Identifier: MIT
package import Foundation

/// Everything known of a stored response besides its bytes, at one moment. A renderer may keep its
/// output for as long as it receives this very object.
package final class StoredResponse: Sendable {
  package let information: ContentInformation
  /// The origin's fields, except those that describe the message or one range.
  package let headers: HeaderFields
  package let freshness: Freshness
  package let etag: String?
  package let lastModified: String?
  /// Whether Last-Modified is a strong validator (RFC 9110 §8.8.2.2).
  package let isStrongLastModified: Bool
  package let invalidatedAt: Date?
  /// Whether the origin allows shared caches to serve the response regardless of credentials.
  package let isForEverybody: Bool
  let selection: Selection

  init?(_ state: Representation) {
    guard let information = state.info, let freshness = state.freshness else { return nil }
    self.information = information
    self.freshness = freshness
    headers = state.headers
    etag = state.validator.storedETag
    lastModified = state.validator.storedLastModified
    isStrongLastModified = state.validator.isStrongLastModified
    invalidatedAt = state.invalidatedAt
    selection = state.selection
    isForEverybody =
      CacheControl.isForEverybody(headers) && freshness.mayDifferByCookies != true
  }

  /// Returns the seconds until the response becomes stale; negative once it is. One that a
  /// request may have changed has been stale since then, by a second at least.
  package func timeToLive(at now: Date) -> Double {
    let remaining = freshness.remaining(at: now)
    guard !remaining.isFinite else { return remaining }
    var left = min(freshness.lifetime - freshness.age(at: now), -1)
    if let invalidatedAt, invalidatedAt > freshness.confirmedAt {
      left = min(left, invalidatedAt.timeIntervalSince(now))
    }
    return left
  }

  /// Whether the response depends on request fields.
  package var varies: Bool { !selection.varying.isEmpty }

  /// Returns the key of the representation that a request selects; nil if it is this one.
  func otherKey(than key: CacheKey, for request: HeaderFields) -> CacheKey? {
    selection.otherKey(than: key, for: request)
  }
}
