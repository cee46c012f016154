// SPDX-License-Identifier: MIT
import Foundation

/// Distinguishes the generations of a resource by verbatim header fields (RFC 9110 §8.8).
package struct Validator: Sendable, Hashable, Codable {
  package var etag: String?
  package var lastModified: String?
  /// Whether the Date of its response is at least one second later, so that the resource did not
  /// change twice within that second (RFC 9110 §8.8.2.2).
  package var isStrongLastModified = false
  /// Whether the ETag came after the first bytes: it distinguishes later responses, but does not
  /// identify those bytes.
  var isLateETag: Bool?
  /// As `isLateETag`, for Last-Modified.
  var isLateLastModified: Bool?
  /// The number of versions in a row that the origin replaced before they had come; nil for none.
  var replacements: Int?
}

extension Validator {
  /// Values that are empty, longer than any real one, or could not be sent back, count as absent.
  package init(headers: HeaderFields) {
    func usable(_ name: String) -> String? {
      guard let value = headers[name].map({ String($0.trimmingOWS) }), !value.isEmpty,
        value.utf8.count <= 4096, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
      else { return nil }
      return value
    }
    self.init(etag: usable("ETag"), lastModified: usable("Last-Modified"))
    let (sent, modified) = (HTTPDate.parse(headers["Date"]), HTTPDate.parse(lastModified))
    if let sent, let modified { isStrongLastModified = sent.timeIntervalSince(modified) >= 1 }
  }

  var isEmpty: Bool { etag == nil && lastModified == nil }

  /// What identifies the stored bytes.
  var stored: Validator {
    var stored = self
    if isLateETag == true { stored.etag = nil }
    if isLateLastModified == true { stored.lastModified = nil }
    return stored
  }

  /// The value for If-Range (RFC 9110 §13.1.5): a strong ETag, or without one a strong date. With
  /// any other value, the origin's comparison would fail, or join two generations.
  var ifRange: String? {
    if let etag { return isLateETag != true && EntityTag(etag).kind == .strong ? etag : nil }
    return isStrongLastModified && !isOfOneResponse ? stored.lastModified : nil
  }

  /// The headers of a request that revalidates this generation (RFC 9110 §13.1.2, §13.1.3).
  var conditional: HeaderFields {
    var fields = HeaderFields()
    if let etag = stored.etag, EntityTag(etag).kind != .malformed {
      fields.append("If-None-Match", etag)
    }
    fields["If-Modified-Since"] = stored.lastModified
    return fields
  }

  /// Whether the origin sends another validator, or another length, with each response: the version
  /// is what one response brings.
  var isOfOneResponse: Bool { (replacements ?? 0) >= Self.mostReplacements }

  static let mostReplacements = 2

  /// Adopts what a later response of the same generation adds; returns whether it adds anything.
  mutating func learn(from other: Validator) -> Bool {
    guard matches(other) != .different else { return false }
    if etag == nil, other.etag != nil {
      (etag, isLateETag) = (other.etag, true)
      return true
    }
    // A strong tag makes a date unnecessary.
    if lastModified == nil, other.lastModified != nil, ifRange == nil {
      (lastModified, isLateLastModified, isStrongLastModified) = (other.lastModified, true, false)
      return true
    }
    return false
  }

  /// Whether the validators change with each version of a document, which may be rewritten within
  /// the second of its Last-Modified: servers of files make the ETag of that time and the length.
  var followsDocument: Bool { lastModified == nil || isStrongLastModified }

  /// For people.
  var display: String? { etag ?? lastModified }

  enum Match: Sendable, Hashable {
    /// One generation: equal strong ETags; or no ETags, and equal Last-Modified.
    case same
    /// Most likely one generation: equal weak ETags, or equal Last-Modified if only one side has an
    /// ETag; or the equal value came late.
    case weaklySame
    case different
    /// Nothing to compare: one side is empty, or they have nothing in common.
    case unknown
  }

  /// Compares as in RFC 9110 §8.8.3.2, with Last-Modified if ETags do not decide. Of an origin whose
  /// versions are single responses, only a strong ETag shows that two are the same.
  func matches(_ other: Validator) -> Match {
    let match = comparison(with: other)
    guard isOfOneResponse || other.isOfOneResponse else { return match }
    return match == .same && etag != nil ? .same : .different
  }

  func comparison(with other: Validator) -> Match {
    var modified = lastModified == other.lastModified ? Match.same : .different
    if lastModified == nil || other.lastModified == nil { modified = .unknown }
    guard let mine = etag.map(EntityTag.init), let theirs = other.etag.map(EntityTag.init) else {
      let isLate = isLateLastModified == true || other.isLateLastModified == true
      return modified == .same && (etag != other.etag || isLate) ? .weaklySame : modified
    }
    guard mine.opaque == theirs.opaque else { return .different }
    // Equal malformed tags are as good as strong ones: servers that omit the quotes mean a digest,
    // except after `W/`.
    if mine.kind != .weak, theirs.kind != .weak, !mine.text.hasPrefix("W/") {
      return isLateETag == true || other.isLateETag == true ? .weaklySame : .same
    }
    // A weak tag may stay the same while bytes change; a new date shows it.
    return modified == .different ? .different : .weaklySame
  }
}

/// An ETag as in the header (RFC 9110 §8.8.3).
package struct EntityTag: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// `"…"`: the same tag means the same bytes.
    case strong
    /// `W/"…"`: the same tag means bytes that serve the same purpose.
    case weak
    /// Unquoted, or several: can be compared, but not sent where the origin would have to parse it.
    case malformed
  }

  package var text: String
  package var kind: Kind

  package init(_ text: String) {
    self.text = text
    let isWeak = text.hasPrefix("W/")
    let tag = text.utf8.dropFirst(isWeak ? 2 : 0)
    let quote = UInt8(ascii: "\"")
    let isOpaque =
      tag.count >= 2 && tag.first == quote && tag.last == quote
      && tag.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != quote && $0 != 0x7F }
    kind = !isOpaque ? .malformed : isWeak ? .weak : .strong
  }

  /// The tag without `W/`, for the weak comparison (RFC 9110 §8.8.3.2).
  package var opaque: Substring { kind == .weak ? text.dropFirst(2) : text[...] }
}
