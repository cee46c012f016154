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
}

/// The value of Content-Range (RFC 9110 §14.4).
///
///     bytes 0-499/1234   range 0..<500, total 1234
///     bytes 0-499/*      range 0..<500, total unknown
///     bytes */1234       no range: the requested one lies outside (416)
package struct ContentRange: Sendable, Hashable {
  package var range: ByteRange?
  package var total: Int64?

  init(range: ByteRange?, total: Int64?) {
    self.range = range
    self.total = total
  }

  /// Nil if the value is invalid: another unit, an end before the start or beyond the total, a
  /// number that does not fit, several values.
  package init?(_ value: String) {
    let value = value.trimmingOWS
    guard let space = value.firstIndex(where: { $0 == " " || $0 == "\t" }),
      value[..<space].lowercased() == "bytes"
    else { return nil }
    let sides = value[space...].split(
      separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard sides.count == 2 else { return nil }
    let (positions, length) = (sides[0].trimmingOWS, sides[1].trimmingOWS)

    var total: Int64?
    if length != "*" {
      guard let known = Int64(digits: length) else { return nil }
      total = known
    }
    if positions == "*" {
      // "*/*" has no information, and the grammar does not allow it.
      guard total != nil else { return nil }
      self.init(range: nil, total: total)
      return
    }

    let ends = positions.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    // `digits` stays below the greatest Int64, so `last + 1` fits.
    guard ends.count == 2, let first = Int64(digits: ends[0].trimmingOWS),
      let last = Int64(digits: ends[1].trimmingOWS), first <= last
    else { return nil }
    if let total, last >= total { return nil }
    self.init(range: first..<(last + 1), total: total)
  }
}

extension HeaderFields {
  /// Content-Range; nil if it is missing or invalid.
  package var contentRange: ContentRange? { self["Content-Range"].flatMap(ContentRange.init) }
}
