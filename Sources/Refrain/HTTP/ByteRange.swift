// SPDX-License-Identifier: MIT

/// A half-open range of byte offsets in a resource. HTTP's inclusive form exists only where a
/// header is parsed or written.
public typealias ByteRange = Range<Int64>

extension ByteRange {
  /// The value of Range that requests these bytes, at least one (RFC 9110 §14.2): `bytes=a-b`, with
  /// HTTP's inclusive last byte; `bytes=a-` if the end is unknown (`.max`).
  var fieldValue: String {
    let last = upperBound == .max ? "" : "\(Swift.max(upperBound - 1, lowerBound))"
    return "bytes=\(lowerBound)-\(last)"
  }
}

extension HeaderFields {
  /// The request fields about a range.
  static let ofRange = ["Range", "If-Range"]

  /// Removes a request's range: the whole resource is requested instead.
  mutating func dropRange() {
    for name in Self.ofRange { self[name] = nil }
  }

  /// Content-Range; nil if it is missing or invalid.
  package var contentRange: ContentRange? { self["Content-Range"].flatMap(ContentRange.init) }
}

/// The value of Content-Range (RFC 9110 §14.4).
///
///     bytes 0-499/1234   range 0..<500, total 1234
///     bytes 0-499/*      range 0..<500, total unknown
///     bytes */1234       no range: the requested one lies outside (416)
package struct ContentRange: Sendable, Hashable {
  package var range: ByteRange?
  package var total: Int64?

  init(range: ByteRange?, total: Int64?) { (self.range, self.total) = (range, total) }

  /// Nil if the value is invalid: another unit, an end before the start or beyond the total.
  package init?(_ value: String) {
    let value = value.trimmingOWS
    let unit = value.prefix { $0 != " " && $0 != "\t" }
    let sides = value[unit.endIndex...]
      .split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmingOWS)
    guard unit.lowercased() == "bytes", sides.count == 2 else { return nil }
    let total = sides[1] == "*" ? nil : Int64(digits: sides[1])
    // "*/*" has no information, and the grammar does not allow it.
    guard total != nil || (sides[1] == "*" && sides[0] != "*") else { return nil }
    self.total = total
    guard sides[0] != "*" else { return }
    let ends = sides[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
      .map { Int64(digits: $0.trimmingOWS) }
    // `digits` stays below the greatest Int64, so `last + 1` fits.
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last,
      last < total ?? .max
    else { return nil }
    range = first..<(last + 1)
  }
}
