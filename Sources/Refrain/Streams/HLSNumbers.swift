// SPDX-License-Identifier: MIT

/// Numbers of HLS playlists. None traps: integers saturate, other values are no numbers.
enum HLSNumbers {
  /// Returns the digits at the start, as players do: `1280000.5` is 1280000.
  static func integer(_ bytes: ArraySlice<UInt8>) -> Int64? {
    var value: Int64 = 0
    var rest = bytes.drop(while: \.isBlank)
    guard let first = rest.first, first.isDigit else { return nil }
    while let byte = rest.popFirst(), byte.isDigit { value.append(digit: byte) }
    return value
  }

  /// Returns a number that is not negative, up to a comma or a blank.
  static func decimal(_ bytes: ArraySlice<UInt8>) -> Double? {
    let number = bytes.drop(while: \.isBlank).prefix(longestDecimal + 1)
      .prefix { !$0.isBlank && $0 != UInt8(ascii: ",") }
    guard number.count <= longestDecimal,
      let value = Double(String(decoding: number, as: UTF8.self)), value.isFinite, value >= 0
    else { return nil }
    return value
  }

  /// Returns a duration in seconds. Sums of them stay finite.
  static func seconds(_ bytes: ArraySlice<UInt8>) -> Double? {
    decimal(bytes).map { min($0, Double(CacheControl.longest)) }
  }

  private static let longestDecimal = 64

  /// Returns the sides of `1920x1080`.
  static func resolution(_ bytes: ArraySlice<UInt8>) -> (width: Int, height: Int)? {
    guard let middle = bytes.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "x") }),
      let width = integer(bytes[..<middle]), let height = integer(bytes[(middle + 1)...])
    else { return nil }
    return (Int(clamping: width), Int(clamping: height))
  }

  /// Returns the range of `length` or `length@offset` (RFC 8216 §4.3.2.2); nil if it is empty or
  /// beyond every resource.
  ///
  /// - Parameter start: the offset where the text states none.
  static func byteRange(_ bytes: ArraySlice<UInt8>, continuingAt start: Int64) -> ByteRange? {
    guard let length = integer(bytes), length > 0 else { return nil }
    var start = start
    if let at = bytes.firstIndex(of: UInt8(ascii: "@")) {
      guard let offset = integer(bytes[(at + 1)...]) else { return nil }
      start = offset
    }
    let (end, overflowed) = start.addingReportingOverflow(length)
    return overflowed || end == .max ? nil : start..<end
  }
}

extension Int64 {
  /// Returns the sum; a sum that becomes too large becomes the greatest number.
  func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflowed) = addingReportingOverflow(other)
    return overflowed ? .max : sum
  }
}
