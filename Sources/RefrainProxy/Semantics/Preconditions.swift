// SPDX-License-Identifier: MIT
internal import Foundation
internal import Refrain

/// The conditions of a request (RFC 9110 §13.1), evaluated in the order of §13.2.2.
struct Preconditions: Sendable, Hashable {
  enum Outcome: Sendable, Hashable {
    /// The method is performed, including its Range.
    case proceed
    /// The Range is ignored: If-Range names another generation.
    case ignoreRange
    /// 304.
    case notModified
    /// 412.
    case failed
  }

  private var ifMatch: EntityTagList?
  private var ifNoneMatch: EntityTagList?
  private var ifModifiedSince: Date?
  private var ifUnmodifiedSince: Date?
  private var ifRange: String?

  /// Returns nil if there are none.
  init?(fields: HeaderFields) {
    ifMatch = fields["If-Match"].map { EntityTagList($0) }
    ifNoneMatch = fields["If-None-Match"].map { EntityTagList($0) }
    // A date beside tags is ignored, and so is an invalid one (§13.1.3, §13.1.4). Several fields of
    // a name do not form a date.
    if ifNoneMatch == nil {
      ifModifiedSince = fields["If-Modified-Since"].flatMap { HTTPDate.parse($0) }
    }
    if ifMatch == nil {
      ifUnmodifiedSince = fields["If-Unmodified-Since"].flatMap { HTTPDate.parse($0) }
    }
    ifRange = fields["If-Range"].map { String($0.trimmingOWS) }
    guard
      ifMatch != nil || ifNoneMatch != nil || ifModifiedSince != nil || ifUnmodifiedSince != nil
        || ifRange != nil
    else { return nil }
  }

  /// Evaluates the conditions of a GET or HEAD.
  ///
  /// - Parameters:
  ///   - hasRange: whether a Range would be applied.
  ///   - etag: the field's value in the response that would be sent.
  ///   - lastModified: likewise.
  ///   - isStrongLastModified: whether that date identifies the bytes (RFC 9110 §8.8.2.2).
  func evaluate(
    hasRange: Bool, etag: String?, lastModified: String?, isStrongLastModified: Bool
  ) -> Outcome {
    let tag = etag.map { EntityTag($0) }
    let modified = lastModified.flatMap { HTTPDate.parse($0) }
    if let ifMatch {
      guard ifMatch.containsStrongly(tag) else { return .failed }
    } else if let ifUnmodifiedSince, let modified {
      guard modified <= ifUnmodifiedSince else { return .failed }
    }
    if let ifNoneMatch {
      if ifNoneMatch.containsWeakly(tag) { return .notModified }
    } else if let ifModifiedSince, let modified {
      if modified <= ifModifiedSince { return .notModified }
    }
    if hasRange, let ifRange {
      guard
        isSame(ifRange, tag: tag, lastModified: isStrongLastModified ? lastModified : nil)
      else { return .ignoreRange }
    }
    return .proceed
  }

  /// Whether If-Range matches (§13.1.5): the same strong tag, or exactly the date, if that is
  /// strong.
  private func isSame(_ ifRange: String, tag: EntityTag?, lastModified: String?) -> Bool {
    let asked = EntityTag(ifRange)
    if asked.kind == .strong { return tag == asked }
    guard asked.kind == .malformed, let lastModified, let date = HTTPDate.parse(ifRange) else {
      return false
    }
    return HTTPDate.parse(lastModified) == date
  }
}

/// `"*"` or a list of entity tags: If-Match and If-None-Match (RFC 9110 §13.1.1, §13.1.2).
struct EntityTagList: Sendable, Hashable {
  private var isAny = false
  private var tags: [EntityTag] = []

  /// Parses a list. An invalid tag is kept unchanged: some servers omit the quotes, and clients
  /// return the tag that they received. It matches only the same text, and only weakly.
  init(_ value: String) {
    let value = value.trimmingOWS
    if value == "*" {
      isAny = true
      return
    }
    var rest = value.utf8[...]
    while !rest.isEmpty {
      // A comma within quotes belongs to the tag. There are no escapes (RFC 9110 §8.8.3).
      var isQuoted = false
      let element = rest.prefix { byte in
        if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
        return isQuoted || byte != UInt8(ascii: ",")
      }
      rest = rest[element.endIndex...].dropFirst()
      let text = value[element.startIndex..<element.endIndex].trimmingOWS
      if !text.isEmpty { tags.append(EntityTag(String(text))) }
    }
  }

  /// Compares strongly (RFC 9110 §8.8.3.2); `*` matches any existing representation.
  func containsStrongly(_ tag: EntityTag?) -> Bool {
    if isAny { return true }
    guard let tag, tag.kind == .strong else { return false }
    return tags.contains(tag)
  }

  func containsWeakly(_ tag: EntityTag?) -> Bool {
    if isAny { return true }
    guard let tag else { return false }
    return tags.contains { $0.opaque == tag.opaque }
  }
}
