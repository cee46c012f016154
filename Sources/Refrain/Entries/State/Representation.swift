// SPDX-License-Identifier: MIT
package import Foundation

/// The origin's description of a generation: validator, freshness, header fields.
struct Representation: Sendable {
  var info: ContentInformation? { didSet { markUnread() } }
  var validator = Validator()
  var freshness: Freshness? {
    didSet {
      // Bytes that do not change state no other pace.
      if info != nil, freshness?.pace == nil { freshness?.pace = oldValue?.pace }
      markUnread()
    }
  }
  private(set) var headers = HeaderFields()
  private(set) var variant: String?
  /// When a request was made that may have changed the resource.
  var invalidatedAt: Date?
  /// When the origin last responded, or could not be asked, since the entry was opened.
  var lastContact: (time: Uptime, isReached: Bool)?
  var titles = StreamTitles()

  /// The rules by which the resource may be a document; nil: it is none.
  let documents: (any DocumentRules)?
  private let isRequestedAsDocument: Bool

  init(documents: (any DocumentRules)? = nil, requestedAt url: URL? = nil) {
    self.documents = documents
    isRequestedAsDocument =
      url.flatMap { documents?.isDocument(mimeType: nil, url: $0) } ?? false
  }

  mutating func adopt(_ record: EntryRecord) {
    info = ContentInformation(
      length: record.length, mimeType: record.mimeType, supportsRanges: record.supportsRanges,
      validator: record.validator.display,
      finalURL: URL(string: record.finalURL) ?? URL(filePath: "/"))
    validator = record.validator
    freshness = record.freshness
    headers = record.storedHeaders
    variant = record.variant
    invalidatedAt = record.invalidatedAt
  }

  mutating func respond(_ fields: HeaderFields, selectedBy request: HeaderFields) {
    headers = fields
    // `fields` are merged: a partial response need not repeat the Vary of the whole one.
    variant = Variant.of(request, names: Variant.names(in: fields))
  }

  /// The response to a request from before the resource was changed is outdated already.
  mutating func refresh(_ freshness: Freshness?, askedAt time: Date, confirmedAt uptime: Uptime) {
    var freshness = freshness
    if let invalidatedAt, time <= invalidatedAt { freshness?.isOutdated = true }
    freshness?.confirmedUptime = uptime
    // A confirmation does not change the bytes.
    if self.freshness?.isTransformed == true { freshness?.isTransformed = true }
    self.freshness = freshness
  }

  mutating func follow(replacements: Int) {
    validator.replacements = replacements > 0 ? replacements : nil
  }

  var longestDocument: Int64 { documents?.longest ?? 0 }

  private var isNamedDocument: Bool {
    guard let documents, let info else { return false }
    return documents.isDocument(mimeType: info.mimeType, url: info.finalURL)
  }

  var isDocument: Bool {
    (isRequestedAsDocument || isNamedDocument) && info?.length ?? 0 <= longestDocument
  }

  func mayBeUnreadDocument(ofLength length: Int64?) -> Bool {
    guard let length, length > 0, length <= longestDocument else { return false }
    return freshness?.pace == nil || freshness?.pace == .unread
  }

  private mutating func markUnread() {
    // Without a look at nil, each assignment would call the observer, and this, again.
    if let freshness, freshness.pace == nil, isNamedDocument { self.freshness?.pace = .unread }
  }
}

/// Everything known of a stored response besides its bytes, at one moment. A renderer may keep its
/// output for as long as it receives this very object.
package final class StoredResponse: Sendable {
  package let information: ContentInformation
  /// The origin's fields, except those that describe the message or one range.
  package let headers: HeaderFields
  package let freshness: Freshness
  package let validator: Validator
  package let invalidatedAt: Date?
  /// Whether the origin allows shared caches to serve the response regardless of credentials.
  package let isForEverybody: Bool
  private let varying: [String]
  /// A hash of the values of what Vary names in the answered request.
  let variant: String?

  init?(_ state: Representation) {
    guard let information = state.info, let freshness = state.freshness else { return nil }
    self.information = information
    self.freshness = freshness
    (headers, invalidatedAt) = (state.headers, state.invalidatedAt)
    validator = state.validator.stored
    (varying, variant) = (Variant.names(in: headers), state.variant)
    isForEverybody =
      CacheControl(headers, isShared: true).isForEverybody && freshness.mayDifferByCookies != true
  }

  /// Returns the seconds until the response becomes stale; negative once it is.
  package func timeToLive(at now: Date) -> Double {
    let remaining = freshness.remaining(at: now)
    return remaining.isFinite ? remaining : -1
  }

  package var varies: Bool { !varying.isEmpty }

  /// Nil if the request selects this one.
  package func otherKey(than key: CacheKey, for request: HeaderFields) -> CacheKey? {
    guard let wanted = Variant.of(request, names: varying), wanted != variant else { return nil }
    return CacheKey(rawValue: "\(key.rawValue)\(Selection.variantMark)\(wanted)")
  }
}
