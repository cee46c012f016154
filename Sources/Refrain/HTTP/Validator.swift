// SPDX-License-Identifier: MIT
import Foundation

/// By what one generation of a resource is told from another: ETag and Last-Modified, as the origin
/// sent them (RFC 9110 §8.8).
struct Validator: Sendable, Hashable, Codable {
  /// The ETag, the header verbatim.
  var etag: String?
  /// Last-Modified, the header verbatim.
  var lastModified: String?
  /// Whether Last-Modified stands for the bytes: the Date that came with it is at least one second
  /// later, so that the resource did not change twice within the second it names
  /// (RFC 9110 §8.8.2.2).
  var isStrongLastModified: Bool
  /// The ETag came after bytes that were stored without it: it tells later answers apart, and says
  /// nothing of those bytes.
  var isLateETag: Bool?
  /// As `isLateETag`, of Last-Modified.
  var isLateLastModified: Bool?
  /// ETags of other servers behind the same name: their answers were compared with all that was
  /// stored, and equal.
  var otherETags: [String]?

  /// No load balancer has more servers with tags of their own worth remembering.
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

  /// The value for If-Range (RFC 9110 §13.1.5), nil where there is nothing strong: a strong ETag;
  /// Last-Modified only where there is no ETag at all, and it is strong. The origin would compare
  /// anything else to no avail, or join two generations.
  var ifRange: String? {
    if let etag { return EntityTag(etag).kind == .strong && isLateETag != true ? etag : nil }
    return isStrongLastModified && isLateLastModified != true ? lastModified : nil
  }

  /// The headers of a request that asks whether this is still what the origin has
  /// (RFC 9110 §13.1.2, §13.1.3). Empty where there is nothing to ask with.
  var conditional: HTTPFields {
    var fields = HTTPFields()
    // Any of several will do (RFC 9110 §13.1.2).
    let tags = ([isLateETag == true ? nil : etag] + (otherETags ?? [])).compactMap { $0 }
    let known = tags.filter { EntityTag($0).kind != .malformed }
    if !known.isEmpty { fields.append("If-None-Match", known.joined(separator: ", ")) }
    if let lastModified, isLateLastModified != true {
      fields.append("If-Modified-Since", lastModified)
    }
    return fields
  }

  /// Whether another server's validator was found to stand for the same bytes.
  func hasOther(_ other: Validator) -> Bool {
    other.etag.map { otherETags?.contains($0) == true } ?? false
  }

  /// Remembers the validator of another server: what it stood for has turned out to be equal.
  mutating func remember(_ other: Validator) {
    let tags = ([other.isLateETag == true ? nil : other.etag] + (other.otherETags ?? []))
      .compactMap { $0 }.filter { $0 != etag }
    otherETags = tags.isEmpty ? nil : Array(tags.prefix(Self.mostOthers))
  }

  /// Whether there is anything that stands for what is stored.
  var isForStored: Bool {
    (etag != nil && isLateETag != true) || (lastModified != nil && isLateLastModified != true)
  }

  /// Takes over what a later answer of the same generation says, and none before it did: whatever
  /// comes after has to agree with it.
  ///
  /// - Returns: whether there was anything to take over.
  mutating func learn(from other: Validator) -> Bool {
    let match = matches(other)
    guard match != .different else { return false }
    if etag == nil, let tag = other.etag {
      // A date that stands for every byte is the same in both: so the tag does, too.
      let isProven = match == .weaklySame && isStrongLastModified && isLateLastModified != true
      etag = tag
      isLateETag = isProven ? nil : true
      return true
    }
    // A strong tag says all that a date could.
    if lastModified == nil, let date = other.lastModified, ifRange == nil {
      lastModified = date
      isStrongLastModified = false
      isLateLastModified = true
      return true
    }
    return false
  }

  /// For people: the strong ETag, else Last-Modified, else whatever ETag there is.
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
