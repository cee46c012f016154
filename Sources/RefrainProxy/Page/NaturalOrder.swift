// SPDX-License-Identifier: MIT

/// The order of names in which `segment-10` follows `segment-9`. Pure.
enum NaturalOrder {
  /// Whether `a` comes before `b`: runs of digits compare as numbers of any size.
  static func isBefore(_ a: String, _ b: String) -> Bool {
    let (left, right) = (Array(a.utf8), Array(b.utf8))
    var (i, j) = (0, 0)
    while i < left.count, j < right.count {
      if left[i].isDecimalDigit, right[j].isDecimalDigit {
        let (x, y) = (digits(left, &i), digits(right, &j))
        if x.count != y.count { return x.count < y.count }
        if !x.elementsEqual(y) { return x.lexicographicallyPrecedes(y) }
      } else {
        if left[i] != right[j] { return left[i] < right[j] }
        (i, j) = (i + 1, j + 1)
      }
    }
    if left.count - i != right.count - j { return left.count - i < right.count - j }
    // Equal but for zeros in front.
    return left.lexicographicallyPrecedes(right)
  }

  /// Returns the run of digits at an index, without zeros in front.
  private static func digits(_ text: [UInt8], _ index: inout Int) -> ArraySlice<UInt8> {
    let start = index
    while index < text.count, text[index].isDecimalDigit { index += 1 }
    return text[start..<index].drop { $0 == UInt8(ascii: "0") }
  }
}

extension UInt8 {
  fileprivate var isDecimalDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
