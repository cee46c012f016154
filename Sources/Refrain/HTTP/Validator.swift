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
    if let etag { return EntityTag(etag).kind == .strong ? etag : nil }
    return isStrongLastModified ? lastModified : nil
  }

  /// The headers of a request that asks whether this is still what the origin has
  /// (RFC 9110 §13.1.2, §13.1.3). Empty where there is nothing to ask with.
  var conditional: HTTPFields {
    var fields = HTTPFields()
    if let etag, EntityTag(etag).kind != .malformed { fields.append("If-None-Match", etag) }
    if let lastModified { fields.append("If-Modified-Since", lastModified) }
    return fields
  }

  /// For people: the strong ETag, else Last-Modified, else whatever ETag there is.
  var display: String? {
    if let etag, EntityTag(etag).kind == .strong { return etag }
    return lastModified ?? etag
  }

  private static func usable(_ value: String?, longest: Int) -> String? {
    guard let value = value.map({ String($0.trimmingOWS) }), !value.isEmpty,
      value.utf8.count <= longest, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
    else { return nil }
    return value
  }
}
