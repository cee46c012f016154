// SPDX-License-Identifier: MIT
internal import Refrain
internal import RefrainStreams

/// The one range of a request (RFC 9110 §14.1), parsed without an allocation, before the length of
/// the resource is known. As in HTTP, the last byte is included.
struct RequestedRange: Equatable, Sendable {
  /// Nil in `bytes=-500`, the last 500: `last` is then their number.
  private let first: Int64?
  /// Nil in `bytes=500-`.
  private let last: Int64?

  /// Parses the value of Range, without surrounding white space. Returns nil for what is ignored
  /// (§14.2): several ranges, which no player needs, other units than bytes, and invalid values.
  /// Numbers that overflow become the greatest one.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.starts(with: "bytes=") else { return nil }
    var index = 6
    first = Self.number(bytes, &index)
    guard index < bytes.count, bytes[index] == UInt8(ascii: "-") else { return nil }
    index += 1
    last = Self.number(bytes, &index)
    guard index == bytes.count, first != nil || last != nil, first ?? 0 <= last ?? .max
    else { return nil }
  }

  init?(_ value: String?) {
    guard var value,
      let range = value.withUTF8({ Self(UnsafeRawBufferPointer($0).trimmed) })
    else { return nil }
    self = range
  }

  /// The first byte, and the byte after the last, as far as they are known without the length.
  var bounds: (start: Int64, end: Int64?) {
    guard let first else { return (0, nil) }
    return (first, min(last ?? .max, .max - 1) + 1)
  }

  /// Returns nil if the range contains no byte of the resource.
  func resolved(length: Int64) -> ByteRange? {
    let range =
      first.map { min($0, length)..<min(last ?? .max, length - 1) + 1 }
      ?? length - min(last ?? 0, length)..<length
    return range.isEmpty ? nil : range
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) -> Int64? {
    let digits = bytes[index...].prefix(while: \.isDigit)
    index = digits.endIndex
    return Int64(saturatingDigits: String(decoding: digits, as: UTF8.self), at: .max)
  }
}
