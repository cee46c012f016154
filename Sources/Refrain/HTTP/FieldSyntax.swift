// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension Int64 {
  /// Parses `1*DIGIT` (RFC 5234 §B.1) and nothing else; nil also from the greatest number on: no
  /// resource is that long.
  package init?(digits: some StringProtocol) {
    guard let value = Int64(saturatingDigits: digits, at: .max), value < .max else { return nil }
    self = value
  }

  /// As `init(digits:)`, but reduces values above `limit` to `limit` (RFC 9111 §1.2.2).
  package init?(saturatingDigits digits: some StringProtocol, at limit: Int64) {
    guard !digits.isEmpty, digits.utf8.allSatisfy(\.isDigit) else { return nil }
    self = Swift.min(Int64(digits) ?? .max, limit)
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
  @inlinable package var isDigit: Bool { self >= 0x30 && self <= 0x39 }

  @inlinable package var isLetter: Bool { self | 0x20 >= 0x61 && self | 0x20 <= 0x7A }

  @inlinable package var isOWS: Bool { self == 0x20 || self == 0x09 }

  /// Whether the value of a field may have this byte (RFC 9110 §5.5): no control character but HTAB.
  @inlinable package var isValueByte: Bool { self == 0x09 || (self >= 0x20 && self != 0x7F) }

  package init?(hexadecimal digits: some Collection<UInt8>) {
    let values = digits.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard digits.count == 2, values.count == 2 else { return nil }
    self = UInt8(values[0] << 4 | values[1])
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

/// Dates in HTTP's three forms (RFC 9110 §5.6.7). A formatter is slow, and depends on the locale.
///
///     Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate
///     Sunday, 06-Nov-94 08:49:37 GMT    RFC 850, obsolete
///     Sun Nov  6 08:49:37 1994          asctime(), obsolete
package enum HTTPDate {
  /// Nil for any other form (RFC 9111 §5.3), and if the date does not exist. A wrong day of the week
  /// does not matter. A two-digit year is one of 1970 to 2069.
  package static func parse(_ text: String?) -> Date? {
    let text = (text ?? "").trimmingOWS
    let shape = text.utf8.prefix(40).map { $0.isDigit ? 0x30 : $0.isLetter ? 0x61 : $0 }
    let rest = shape.drop { $0 == 0x61 }
    // No name of a day has four or five letters.
    let forms =
      shape.count - rest.count < 6
      ? [", 00 aaa 0000 00:00:00 aaa", " aaa 00 00:00:00 0000", " aaa  0 00:00:00 0000"]
      : [", 00-aaa-00 00:00:00 aaa"]
    guard forms.contains(where: { rest.elementsEqual($0.utf8) }) else { return nil }
    let words = text.split { " ,-:".contains($0) }
    let order = words.count == 7 ? [2, 1, 6, 3, 4, 5] : [1, 2, 3, 4, 5, 6]
    // All but the month: day, year, hour, minute, second.
    let numbers = order.compactMap { Int32(words[$0]) }
    guard words.count == 7 || words[7] == "GMT", days.contains(words[0].prefix(3)),
      let month = months.firstIndex(of: words[order[1]]), numbers.count == 5
    else { return nil }
    var year = numbers[1]
    if words[order[2]].utf8.count == 2 { year += year < 70 ? 2000 : 1900 }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (year - 1900, Int32(month), numbers[0])
    (fields.tm_hour, fields.tm_min, fields.tm_sec) = (numbers[2], numbers[3], numbers[4])
    let seconds = timegm(&fields)
    // 30 February has become a day of March, and 24:00 one of the next day.
    let clock = [fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec]
    guard clock == [numbers[0]] + numbers[2...] else { return nil }
    return Date(timeIntervalSince1970: Double(seconds))
  }

  /// The date as IMF-fixdate, in whole seconds, rounded down; the nearest of the years 0 to 9999.
  package static func format(_ date: Date) -> String {
    let seconds = date.timeIntervalSince1970
    let bounded = min(max(seconds.isNaN ? 0 : seconds, -62_167_219_200), 253_402_300_799)
    var time = time_t(bounded.rounded(.down))
    var fields = tm()
    gmtime_r(&time, &fields)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let year = fields.tm_year + 1900
    return "\(days[Int(fields.tm_wday)]), \(two(fields.tm_mday)) \(months[Int(fields.tm_mon)]) "
      + "\(two(year / 100))\(two(year % 100)) "
      + "\(two(fields.tm_hour)):\(two(fields.tm_min)):\(two(fields.tm_sec)) GMT"
  }

  private static let days: [Substring] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months: [Substring] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}
