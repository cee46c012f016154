// SPDX-License-Identifier: MIT
package import Foundation

/// All that is known of a stored response besides its bytes, at one moment. Whoever renders it may
/// keep what it made for as long as it is given this very object.
package final class StoredResponse: Sendable {
  package let information: ContentInformation
  /// The origin's fields, without those of the message and of one range.
  package let headers: HTTPFields
  package let freshness: Freshness
  package let etag: String?
  package let lastModified: String?
  /// Last-Modified stands for every byte (RFC 9110 §8.8.2.2).
  package let isStrongLastModified: Bool
  package let invalidatedAt: Date?
  /// The origin says that shared caches may give it to everybody, whoever asked for it.
  package let isForEverybody: Bool
  let selection: Selection

  init?(_ state: GenerationState) {
    guard let information = state.info, let freshness = state.freshness else { return nil }
    self.information = information
    self.freshness = freshness
    headers = state.headers
    let validator = state.validator
    etag = validator.isLateETag == true ? nil : validator.etag
    lastModified = validator.isLateLastModified == true ? nil : validator.lastModified
    isStrongLastModified = state.validator.isStrongLastModified
    invalidatedAt = state.invalidatedAt
    selection = state.selection
    let control =
      CacheControl(targetedBy: headers) ?? CacheControl(headers["Cache-Control"])
    isForEverybody = control.isForEverybody
  }

  /// Whether the answer depends on what a request says of itself.
  package var varies: Bool { !selection.varying.isEmpty }

  /// The key of the representation that a request selects; nil where it is this one.
  func otherKey(than key: CacheKey, for request: HTTPFields) -> CacheKey? {
    selection.otherKey(than: key, for: request)
  }
}
