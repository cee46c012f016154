// SPDX-License-Identifier: MIT

/// Classes of ASCII characters that HTTP and URIs share. Inlined: parsers check every byte.
extension UInt8 {
  /// Whether this is a `DIGIT` (RFC 5234 §B.1).
  @inlinable package var isDigit: Bool { self >= 0x30 && self <= 0x39 }

  /// The value of a hexadecimal digit, in either case.
  @inlinable package var hexadecimalValue: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46: self - 0x41 + 10
    case 0x61...0x66: self - 0x61 + 10
    default: nil
    }
  }

  /// Whether this is a `tchar` (RFC 9110 §5.6.2). A bit for each byte of ASCII.
  @inlinable package var isTokenCharacter: Bool {
    let set: UInt64 = self < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
    return self < 128 && (set >> UInt64(self & 63)) & 1 == 1
  }

  /// Whether this is `unreserved` (RFC 3986 §2.3), which a URL never has to encode.
  @inlinable package var isUnreserved: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
    default: false
    }
  }
}

extension Int64 {
  /// Appends a decimal digit; a number that becomes too large becomes the greatest one.
  @inlinable package mutating func append(digit: UInt8) {
    let (tens, overflowed) = multipliedReportingOverflow(by: 10)
    let (sum, overflowedToo) = tens.addingReportingOverflow(Int64(digit - 0x30))
    self = overflowed || overflowedToo ? .max : sum
  }

  /// Returns the sum; a sum that becomes too large becomes the greatest number.
  package func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflowed) = addingReportingOverflow(other)
    return overflowed ? .max : sum
  }
}
