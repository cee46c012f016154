// SPDX-License-Identifier: MIT
package import Foundation

/// The origin's description of a generation: validator, freshness, header fields.
struct Representation: Sendable {
  var info: ContentInformation? {
    didSet { keepPace(of: freshness) }
  }
  var validator = Validator() { didSet { lastKnown = nil } }
  var freshness: Freshness? { didSet { keepPace(of: oldValue) } }
  private(set) var headers = HeaderFields() { didSet { lastKnown = nil } }
  /// The request field values that select this representation.
  private(set) var variant: String? { didSet { lastKnown = nil } }
  /// When a request was made that may have changed the resource.
  var invalidatedAt: Date? { didSet { lastKnown = nil } }
  private var lastKnown: StoredResponse?
  /// When the origin last responded for this generation, or could not be asked; nil if neither has
  /// happened since the entry was opened.
  var lastContact: (time: Uptime, isReached: Bool)?
  var titles = StreamTitles()
  /// Whether the previous generation was known to be no web page (`MediaType.isKnownNoPage`).
  var followsNoPage = false

  /// The rules by which the resource may be a document; nil: it is none.
  let documents: (any DocumentRules)?
  private let isRequestedAsDocument: Bool

  init(documents: (any DocumentRules)? = nil, requestedAt url: URL? = nil) {
    self.documents = documents
    isRequestedAsDocument =
      url.flatMap { documents?.isDocument(mimeType: nil, url: $0) } ?? false
  }

  var longestDocument: Int64 { documents?.longest ?? 0 }

  /// The same object until something changes; nil before the first response.
  var known: StoredResponse? {
    mutating get {
      if lastKnown == nil { lastKnown = StoredResponse(self) }
      return lastKnown
    }
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

  /// Records the URL, after redirects, that has confirmed the bytes. If more than the query is
  /// another one, the bytes stay at the earlier URL, below which the cache has a document's parts.
  mutating func confirm(at url: URL) {
    func place(_ url: URL) -> Substring { url.absoluteString.prefix { $0 != "?" && $0 != "#" } }
    if let earlier = info?.finalURL, place(earlier) == place(url) { info?.finalURL = url }
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

  mutating func identify(by validator: Validator) {
    let replacements = self.validator.replacements
    self.validator = validator
    self.validator.replacements = replacements
  }

  mutating func follow(replacements: Int) {
    validator.replacements = replacements > 0 ? replacements : nil
  }

  /// Requires a revalidation before the next use; `time` is for `invalidatedAt` (RFC 9111 §4.4).
  mutating func outdate(since time: Date? = nil) {
    freshness?.isOutdated = true
    if let time { invalidatedAt = time }
  }

  private var isNamedDocument: Bool {
    guard let documents, let info else { return false }
    return documents.isDocument(mimeType: info.mimeType, url: info.finalURL)
  }

  /// Whether its URL or media type names a document, and it is not too long for one.
  var isDocument: Bool {
    (isRequestedAsDocument || isNamedDocument) && info?.length ?? 0 <= longestDocument
  }

  func mayBeUnreadDocument(ofLength length: Int64?) -> Bool {
    guard let length, length > 0, length <= longestDocument else { return false }
    return freshness?.pace == nil || freshness?.pace == .unread
  }

  /// Carries the pace over to new freshness: bytes that do not change state no other pace.
  private mutating func keepPace(of before: Freshness?) {
    lastKnown = nil
    guard info != nil, let freshness, freshness.pace == nil,
      let pace = before?.pace ?? (isNamedDocument ? .unread : nil)
    else { return }
    self.freshness?.pace = pace
  }
}

/// Everything known of a stored response besides its bytes, at one moment. A renderer may keep its
/// output for as long as it receives this very object.
package final class StoredResponse: Sendable {
  package let information: ContentInformation
  /// The origin's fields, except those that describe the message or one range.
  package let headers: HeaderFields
  package let freshness: Freshness
  private let validator: Validator
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
    headers = state.headers
    validator = state.validator.stored
    invalidatedAt = state.invalidatedAt
    varying = Variant.names(in: headers)
    variant = state.variant
    isForEverybody =
      CacheControl(headers, isShared: true).isForEverybody && freshness.mayDifferByCookies != true
  }

  package var etag: String? { validator.etag }
  package var lastModified: String? { validator.lastModified }
  /// Whether Last-Modified is a strong validator (RFC 9110 §8.8.2.2).
  package var isStrongLastModified: Bool { validator.isStrongLastModified }

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

  package var varies: Bool { !varying.isEmpty }

  /// Returns the key of the representation that a request selects; nil if it is this one.
  package func otherKey(than key: CacheKey, for request: HeaderFields) -> CacheKey? {
    guard let wanted = Variant.of(request, names: varying), wanted != variant else { return nil }
    return CacheKey(rawValue: "\(key.rawValue)\(Selection.variantMark)\(wanted)")
  }
}
