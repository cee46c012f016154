// SPDX-License-Identifier: MIT
import Foundation

/// Distinguishes the generations of a resource: ETag and Last-Modified, as the origin sent them
/// (RFC 9110 §8.8).
struct Validator: Sendable, Hashable, Codable {
  /// The ETag, the header verbatim.
  var etag: String?
  /// Last-Modified, the header verbatim.
  var lastModified: String?
  /// Whether Last-Modified identifies the bytes: the Date of its response is at least one second
  /// later, so that the resource did not change twice within that second (RFC 9110 §8.8.2.2).
  var isStrongLastModified: Bool
  /// Whether the ETag came after bytes that were stored without it: it distinguishes later
  /// responses, but does not identify those bytes.
  var isLateETag: Bool?
  /// As `isLateETag`, for Last-Modified.
  var isLateLastModified: Bool?
  /// ETags of other servers behind the same name, whose responses were compared with all stored
  /// bytes, and equal.
  var otherETags: [String]?

  /// More servers with tags of their own are not worth remembering.
  private static let mostOthers = 8

  init(etag: String? = nil, lastModified: String? = nil, isStrongLastModified: Bool = false) {
    self.etag = etag
    self.lastModified = lastModified
    self.isStrongLastModified = isStrongLastModified
  }

  /// Values that are empty, longer than any real one, or could not be sent back, count as absent.
  init(headers: HTTPFields) {
    etag = Self.usable(headers["ETag"], longest: 4096)
    lastModified = Self.usable(headers["Last-Modified"], longest: 256)
    isStrongLastModified = false
    if let lastModified, let modified = HTTPDate.parse(lastModified),
      let sent = headers["Date"].flatMap({ HTTPDate.parse($0) })
    {
      isStrongLastModified = sent.timeIntervalSince(modified) >= 1
    }
  }

  var isEmpty: Bool { etag == nil && lastModified == nil }

  /// The value for If-Range (RFC 9110 §13.1.5), nil without a strong validator: a strong ETag;
  /// Last-Modified only if there is no ETag at all, and it is strong. With any other value, the
  /// origin's comparison would fail, or join two generations.
  var ifRange: String? {
    if let etag { return EntityTag(etag).kind == .strong && isLateETag != true ? etag : nil }
    return isStrongLastModified && isLateLastModified != true ? lastModified : nil
  }

  /// The headers of a request that revalidates this generation (RFC 9110 §13.1.2, §13.1.3). Empty
  /// without a suitable validator.
  var conditional: HTTPFields {
    var fields = HTTPFields()
    // Any one of several tags may match (RFC 9110 §13.1.2).
    let tags = ([isLateETag == true ? nil : etag] + (otherETags ?? [])).compactMap { $0 }
    let known = tags.filter { EntityTag($0).kind != .malformed }
    if !known.isEmpty { fields.append("If-None-Match", known.joined(separator: ", ")) }
    if let lastModified, isLateLastModified != true {
      fields.append("If-Modified-Since", lastModified)
    }
    return fields
  }

  /// Whether another server's validator was found to identify the same bytes.
  func hasOther(_ other: Validator) -> Bool {
    other.etag.map { otherETags?.contains($0) == true } ?? false
  }

  /// Adds the validator of another server, whose bytes were found equal.
  mutating func remember(_ other: Validator) {
    let tags = ([other.isLateETag == true ? nil : other.etag] + (other.otherETags ?? []))
      .compactMap { $0 }.filter { $0 != etag }
    otherETags = tags.isEmpty ? nil : Array(tags.prefix(Self.mostOthers))
  }

  /// Whether the validator identifies the stored bytes.
  var isForStored: Bool {
    (etag != nil && isLateETag != true) || (lastModified != nil && isLateLastModified != true)
  }

  /// Adopts the validators of a later response of the same generation if none were known: every
  /// response after that has to agree with them.
  ///
  /// - Returns: whether there was anything to adopt.
  mutating func learn(from other: Validator) -> Bool {
    let match = matches(other)
    guard match != .different else { return false }
    if etag == nil, let tag = other.etag {
      // The same date identifies every byte of both, and so the tag does, too.
      let isProven = match == .weaklySame && isStrongLastModified && isLateLastModified != true
      etag = tag
      isLateETag = isProven ? nil : true
      return true
    }
    // A strong tag makes a date unnecessary.
    if lastModified == nil, let date = other.lastModified, ifRange == nil {
      lastModified = date
      isStrongLastModified = false
      isLateLastModified = true
      return true
    }
    return false
  }

  /// For people: the strong ETag, else Last-Modified, else any ETag.
  var display: String? {
    if let etag, EntityTag(etag).kind == .strong, isLateETag != true { return etag }
    return lastModified ?? etag
  }

  private static func usable(_ value: String?, longest: Int) -> String? {
    guard let value = value.map({ String($0.trimmingOWS) }), !value.isEmpty,
      value.utf8.count <= longest, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
    else { return nil }
    return value
  }
}
