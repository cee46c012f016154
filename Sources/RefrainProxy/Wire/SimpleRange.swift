// SPDX-License-Identifier: MIT
internal import Refrain

/// The commonest forms of a Range, parsed without an allocation. As in HTTP, the last byte is
/// included.
enum SimpleRange: Equatable, Sendable {
  /// `bytes=0-499`.
  case closed(Int64, Int64)
  /// `bytes=500-`.
  case from(Int64)
  /// `bytes=-500`: the last 500.
  case suffix(Int64)

  /// Returns nil for anything else: several ranges, other units, white space, an invalid Range.
  /// `RangeSelection` handles those.
  ///
  /// - Parameter bytes: the value of Range, without surrounding white space.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.starts(with: "bytes=") else { return nil }
    self.init(specifier: bytes.part(6..<bytes.count))
  }

  /// Parses one `range-spec` of RFC 9110 §14.1.1. Numbers that overflow become the greatest one.
  init?(specifier bytes: UnsafeRawBufferPointer) {
    var index = 0
    let first = Self.number(bytes, &index)
    guard index < bytes.count, bytes[index] == UInt8(ascii: "-") else { return nil }
    index += 1
    let last = Self.number(bytes, &index)
    guard index == bytes.count else { return nil }
    switch (first, last) {
    case (let first?, let last?) where first <= last: self = .closed(first, last)
    case (let first?, nil): self = .from(first)
    case (nil, let last?): self = .suffix(last)
    default: return nil
    }
  }

  /// Returns the range in a resource of that length; nil if it contains no byte of it.
  func resolved(length: Int64) -> ByteRange? {
    guard length > 0 else { return nil }
    switch self {
    case .closed(let first, let last):
      guard first < length else { return nil }
      return first..<min(last, length - 1) + 1
    case .from(let first):
      return first < length ? first..<length : nil
    case .suffix(let count):
      return count > 0 ? length - min(count, length)..<length : nil
    }
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) -> Int64? {
    guard index < bytes.count, bytes[index].isDigit else { return nil }
    var value: Int64 = 0
    while index < bytes.count, bytes[index].isDigit {
      let (tens, overflowed) = value.multipliedReportingOverflow(by: 10)
      let (sum, overflowedToo) = tens.addingReportingOverflow(Int64(bytes[index] - 0x30))
      value = overflowed || overflowedToo ? .max : sum
      index += 1
    }
    return value
  }
}
