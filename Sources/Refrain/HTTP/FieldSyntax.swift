// SPDX-License-Identifier: MIT

extension Int64 {
  /// Parses `1*DIGIT` (RFC 5234 §B.1) and nothing else: no sign, no spaces; nil also if it does
  /// not fit.
  package init?(digits: some StringProtocol) {
    guard let value = Int64(saturatingDigits: digits, at: .max) else { return nil }
    // A clamped value looks like the greatest one, so that one is refused too. No resource is that
    // long.
    guard value < .max else { return nil }
    self = value
  }

  /// As `init(digits:)`, but reduces values above `limit` to `limit` (RFC 9111 §1.2.2).
  package init?(saturatingDigits digits: some StringProtocol, at limit: Int64) {
    var value: Int64 = 0
    var isEmpty = true
    for byte in digits.utf8 {
      guard byte.isDigit else { return nil }
      isEmpty = false
      value.append(digit: byte)
    }
    guard !isEmpty else { return nil }
    self = Swift.min(value, limit)
  }
}

extension StringProtocol {
  /// The text without the optional white space around a field's value or a part of it: SP and HTAB
  /// (RFC 9110 §5.6.3).
  package var trimmingOWS: SubSequence {
    var from = startIndex
    var to = endIndex
    while from < to, self[from] == " " || self[from] == "\t" { from = index(after: from) }
    while from < to {
      let last = index(before: to)
      guard self[last] == " " || self[last] == "\t" else { break }
      to = last
    }
    return self[from..<to]
  }

  /// Whether this is a `token` (RFC 9110 §5.6.2).
  package var isToken: Bool {
    !isEmpty && utf8.allSatisfy(\.isTokenCharacter)
  }
}
