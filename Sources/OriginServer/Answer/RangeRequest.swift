// SPDX-License-Identifier: MIT

/// The range that a `Range` header field requests (RFC 9110 §14.1.2).
enum RangeRequest: Equatable {
  /// All of the resource: no field, an invalid one, or several ranges.
  case whole
  /// A single range, cut to the existing bytes.
  case part(Range<Int64>)
  /// Well-formed, but none of its bytes exist.
  case unsatisfiable

  init(_ field: String?, length: Int64) {
    self = Self.parse(field, length: length) ?? .whole
  }

  private static func parse(_ field: String?, length: Int64) -> RangeRequest? {
    guard let field, field.lowercased().hasPrefix("bytes=") else { return nil }
    let spec = field.dropFirst("bytes=".count)
    let ends = spec.split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    if ends[0].isEmpty {
      guard let suffix = number(ends[1]) else { return nil }
      guard suffix > 0, length > 0 else { return .unsatisfiable }
      return .part(max(0, length - suffix)..<length)
    }
    guard let first = number(ends[0]) else { return nil }
    guard !ends[1].isEmpty else {
      return first < length ? .part(first..<length) : .unsatisfiable
    }
    guard let last = number(ends[1]), last >= first else { return nil }
    return first < length ? .part(first..<min(last, length - 1) + 1) : .unsatisfiable
  }

  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { (48...57).contains($0) } ? Int64(text) : nil
  }
}
