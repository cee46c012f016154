// SPDX-License-Identifier: MIT
import Foundation

/// Distinguishes the generations of a resource by verbatim header fields (RFC 9110 §8.8).
struct Validator: Sendable, Hashable, Codable {
  var etag: String?
  var lastModified: String?
  /// Whether Last-Modified identifies the bytes: the Date of its response is at least one second
  /// later, so that the resource did not change twice within that second (RFC 9110 §8.8.2.2).
  var isStrongLastModified = false
  /// Whether the ETag came after bytes that were stored without it: it distinguishes later
  /// responses, but does not identify those bytes.
  var isLateETag: Bool?
  /// As `isLateETag`, for Last-Modified.
  var isLateLastModified: Bool?
  /// The number of versions in a row that the origin replaced before they had come; nil for none.
  var replacements: Int?
}

extension Validator {
  /// Values that are empty, longer than any real one, or could not be sent back, count as absent.
  init(headers: HeaderFields) {
    self.init(
      etag: Self.usable(headers["ETag"], longest: 4096),
      lastModified: Self.usable(headers["Last-Modified"], longest: 256))
    if let modified = HTTPDate.parse(lastModified ?? ""),
      let sent = HTTPDate.parse(headers["Date"] ?? "")
    {
      isStrongLastModified = sent.timeIntervalSince(modified) >= 1
    }
  }

  var isEmpty: Bool { etag == nil && lastModified == nil }

  /// The ETag, if it identifies the stored bytes.
  var storedETag: String? { isLateETag == true ? nil : etag }
  var storedLastModified: String? { isLateLastModified == true ? nil : lastModified }
  var isForStored: Bool { storedETag != nil || storedLastModified != nil }

  /// The value for If-Range (RFC 9110 §13.1.5), nil without a strong validator: a strong ETag;
  /// Last-Modified only if there is no ETag at all, and it is strong. With any other value, the
  /// origin's comparison would fail, or join two generations.
  var ifRange: String? {
    if let etag { return EntityTag(etag).kind == .strong ? storedETag : nil }
    return isStrongLastModified && !isOfOneResponse ? storedLastModified : nil
  }

  /// The headers of a request that revalidates this generation (RFC 9110 §13.1.2, §13.1.3).
  var conditional: HeaderFields {
    var fields = HeaderFields()
    if let storedETag, EntityTag(storedETag).kind != .malformed {
      fields.append("If-None-Match", storedETag)
    }
    fields["If-Modified-Since"] = storedLastModified
    return fields
  }

  /// Whether a conditional request could confirm bytes of either by the other's validator.
  func isShared(with other: Validator) -> Bool {
    [.same, .weaklySame].contains(comparison(with: other))
  }

  /// Whether the origin sends another validator, or another length, with each response: the version
  /// is what one response brings.
  var isOfOneResponse: Bool { (replacements ?? 0) >= Self.mostReplacements }

  static let mostReplacements = 2

  /// Adopts what a later response of the same generation adds; returns whether it adds anything.
  mutating func learn(from other: Validator) -> Bool {
    guard matches(other) != .different else { return false }
    if etag == nil, let tag = other.etag {
      (etag, isLateETag) = (tag, true)
      return true
    }
    // A strong tag makes a date unnecessary.
    if lastModified == nil, let date = other.lastModified, ifRange == nil {
      (lastModified, isLateLastModified) = (date, true)
      isStrongLastModified = false
      return true
    }
    return false
  }

  /// Whether the validators change with each version of a document, which may be rewritten within
  /// the second of its Last-Modified: servers of files make the ETag of that time and the length.
  var followsDocument: Bool { lastModified == nil || isStrongLastModified }

  /// For people.
  var display: String? { storedETag ?? lastModified ?? etag }

  private static func usable(_ value: String?, longest: Int) -> String? {
    guard let value = value.map({ String($0.trimmingOWS) }), !value.isEmpty,
      value.utf8.count <= longest, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
    else { return nil }
    return value
  }
}

/// An ETag as in the header (RFC 9110 §8.8.3).
package struct EntityTag: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// `"…"`: the same tag means the same bytes.
    case strong
    /// `W/"…"`: the same tag means bytes that serve the same purpose.
    case weak
    /// Not an entity tag, though servers send such: unquoted, or several. Can be compared verbatim,
    /// but not sent where the origin would have to parse it.
    case malformed
  }

  package var text: String
  package var kind: Kind

  package init(_ text: String) {
    self.text = text
    if Self.isOpaqueTag(text.utf8[...]) {
      kind = .strong
    } else if text.utf8.starts(with: "W/".utf8), Self.isOpaqueTag(text.utf8.dropFirst(2)) {
      kind = .weak
    } else {
      kind = .malformed
    }
  }

  /// The tag without `W/`, for the weak comparison (RFC 9110 §8.8.3.2).
  package var opaque: Substring { kind == .weak ? text.dropFirst(2) : text[...] }

  private static func isOpaqueTag(_ bytes: Substring.UTF8View) -> Bool {
    let quote = UInt8(ascii: "\"")
    return bytes.count >= 2 && bytes.first == quote && bytes.last == quote
      && bytes.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != quote && $0 != 0x7F }
  }
}

extension Validator {
  enum Match: Sendable, Hashable {
    /// One generation: equal strong ETags; or no ETags, and equal Last-Modified.
    case same
    /// Most likely one generation, but the origin does not vouch for every byte: equal weak ETags,
    /// or equal Last-Modified if only one side has an ETag; or the equal value came late.
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

  private func comparison(with other: Validator) -> Match {
    var modified = Match.unknown
    if let mine = lastModified, let theirs = other.lastModified {
      // One date may be written in two of HTTP's forms.
      let date = mine == theirs ? nil : HTTPDate.parse(mine)
      let isSame = mine == theirs || date != nil && date == HTTPDate.parse(theirs)
      modified = isSame ? .same : .different
    }
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
