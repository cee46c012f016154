// SPDX-License-Identifier: MIT
internal import Refrain
internal import RefrainStreams

/// The one range of a request (RFC 9110 §14.1), parsed without an allocation, before the length of
/// the resource is known. As in HTTP, the last byte is included.
enum RequestedRange: Equatable, Sendable {
  /// `bytes=0-499`.
  case closed(Int64, Int64)
  /// `bytes=500-`.
  case from(Int64)
  /// `bytes=-500`: the last 500.
  case suffix(Int64)

  /// Parses the value of Range, without surrounding white space. Returns nil for what is ignored
  /// (§14.2): several ranges, which no player needs, other units than bytes, and invalid values.
  /// Numbers that overflow become the greatest one.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.starts(with: "bytes=") else { return nil }
    var index = 6
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

  init?(_ value: String?) {
    guard var value,
      let range = value.withUTF8({ Self(UnsafeRawBufferPointer($0).trimmed) })
    else { return nil }
    self = range
  }

  /// The first byte, and the byte after the last, as far as they are known without the length.
  var bounds: (start: Int64, end: Int64?) {
    switch self {
    case .closed(let first, let last): (first, last < .max ? last + 1 : .max)
    case .from(let first): (first, .max)
    case .suffix: (0, nil)
    }
  }

  /// Returns nil if the range contains no byte of the resource.
  func resolved(length: Int64) -> ByteRange? {
    let range =
      switch self {
      case .closed(let first, let last): min(first, length)..<min(last, length - 1) + 1
      case .from(let first): min(first, length)..<length
      case .suffix(let count): length - min(count, length)..<length
      }
    return range.isEmpty ? nil : range
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) -> Int64? {
    var value: Int64?
    while index < bytes.count, bytes[index].isDigit {
      value = value ?? 0
      value?.append(digit: bytes[index])
      index += 1
    }
    return value
  }
}
