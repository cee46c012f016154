// SPDX-License-Identifier: MIT

extension Int64 {
  /// Parses `1*DIGIT` (RFC 5234 §B.1) and nothing else; nil also if it does not fit.
  package init?(digits: some StringProtocol) {
    // A clamped value looks like the greatest one, so that is refused, too: no resource is that long.
    guard let value = Int64(saturatingDigits: digits, at: .max), value < .max else { return nil }
    self = value
  }

  /// As `init(digits:)`, but reduces values above `limit` to `limit` (RFC 9111 §1.2.2).
  package init?(saturatingDigits digits: some StringProtocol, at limit: Int64) {
    guard !digits.isEmpty, digits.utf8.allSatisfy(\.isDigit) else { return nil }
    self = Swift.min(digits.utf8.reduce(into: 0) { $0.append(digit: $1) }, limit)
  }
}

extension StringProtocol {
  /// The text without the optional white space around it, SP and HTAB (RFC 9110 §5.6.3).
  package var trimmingOWS: SubSequence {
    let isMeant: (Character) -> Bool = { $0 != " " && $0 != "\t" }
    guard let first = firstIndex(where: isMeant), let last = lastIndex(where: isMeant) else {
      return self[endIndex...]
    }
    return self[first...last]
  }

  /// Whether this is a `token` (RFC 9110 §5.6.2).
  package var isToken: Bool { !isEmpty && utf8.allSatisfy(\.isTokenCharacter) }
}

/// Classes of ASCII characters that HTTP and URIs share. Inlined: parsers check every byte.
extension UInt8 {
  /// Whether this is a `DIGIT` (RFC 5234 §B.1).
  @inlinable package var isDigit: Bool { self >= 0x30 && self <= 0x39 }

  /// Whether this is an `ALPHA` (RFC 5234 §B.1).
  @inlinable package var isLetter: Bool { self | 0x20 >= 0x61 && self | 0x20 <= 0x7A }

  /// Whether this is optional white space (RFC 9110 §5.6.3).
  @inlinable package var isOWS: Bool { self == 0x20 || self == 0x09 }

  /// Whether the value of a field may have this byte (RFC 9110 §5.5): no control character but HTAB.
  @inlinable package var isValueByte: Bool { self == 0x09 || (self >= 0x20 && self != 0x7F) }

  /// Creates the byte that two hexadecimal digits write; nil for anything else.
  package init?(hexadecimal digits: some Collection<UInt8>) {
    guard digits.count == 2, let high = digits.first?.hexadecimalValue,
      let low = digits.dropFirst().first?.hexadecimalValue
    else { return nil }
    self = high << 4 | low
  }

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
    isDigit || isLetter || self == 0x2D || self == 0x2E || self == 0x5F || self == 0x7E
  }
}

extension Int64 {
  /// Appends a decimal digit; a number that becomes too large becomes the greatest one.
  @inlinable package mutating func append(digit: UInt8) {
    let (tens, overflowed) = multipliedReportingOverflow(by: 10)
    let (sum, overflowedToo) = tens.addingReportingOverflow(Int64(digit - 0x30))
    self = overflowed || overflowedToo ? .max : sum
  }
}
