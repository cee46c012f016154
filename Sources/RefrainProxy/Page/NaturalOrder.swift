// SPDX-License-Identifier: MIT
import Foundation

/// A name in the order in which `segment-10` follows `segment-9`: runs of digits compare as numbers
/// of any size. Made once for each name, so that comparing allocates nothing. Pure.
struct NaturalOrder: Sendable, Hashable, Comparable {
  private let text: String
  /// The name with each run of digits as a `0`, the number of its digits without zeros in front, in
  /// eight bytes, and those digits: in the order of bytes.
  private let bytes: [UInt8]

  init(_ text: String) {
    self.text = text
    let name = Array(text.utf8)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(name.count + 16)
    var index = 0
    while index < name.count {
      guard name[index].isDecimalDigit else {
        bytes.append(name[index])
        index += 1
        continue
      }
      let start = index
      while index < name.count, name[index].isDecimalDigit { index += 1 }
      let digits = name[start..<index].drop { $0 == UInt8(ascii: "0") }
      bytes.append(UInt8(ascii: "0"))
      withUnsafeBytes(of: UInt64(digits.count).bigEndian) { bytes += $0 }
      bytes += digits
    }
    self.bytes = bytes
  }

  static func < (a: Self, b: Self) -> Bool {
    let order = a.bytes.withUnsafeBytes { left in
      b.bytes.withUnsafeBytes { right in
        guard let first = left.baseAddress, let second = right.baseAddress else { return 0 }
        return Int(memcmp(first, second, min(left.count, right.count)))
      }
    }
    if order != 0 { return order < 0 }
    if a.bytes.count != b.bytes.count { return a.bytes.count < b.bytes.count }
    // Equal but for zeros in front.
    return a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
  }
}

extension UInt8 {
  fileprivate var isDecimalDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
