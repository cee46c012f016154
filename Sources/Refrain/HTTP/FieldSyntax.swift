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
  @inlinable package var isDigit: Bool { self >= 0x30 && self <= 0x39 }

  @inlinable package var isLetter: Bool { self | 0x20 >= 0x61 && self | 0x20 <= 0x7A }

  @inlinable package var isOWS: Bool { self == 0x20 || self == 0x09 }

  /// Whether the value of a field may have this byte (RFC 9110 §5.5): no control character but HTAB.
  @inlinable package var isValueByte: Bool { self == 0x09 || (self >= 0x20 && self != 0x7F) }

  package init?(hexadecimal digits: some Collection<UInt8>) {
    guard digits.count == 2, let high = digits.first?.hexadecimalValue,
      let low = digits.dropFirst().first?.hexadecimalValue
    else { return nil }
    self = high << 4 | low
  }

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

/// Dates in HTTP's three forms (RFC 9110 §5.6.7). Parsed and written without a formatter, which
/// would be slow, and depend on the locale.
///
///     Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate
///     Sunday, 06-Nov-94 08:49:37 GMT    RFC 850, obsolete
///     Sun Nov  6 08:49:37 1994          asctime(), obsolete
package enum HTTPDate {
  /// Returns nil for any other form (RFC 9111 §5.3), and for 30 February. A wrong day of the week
  /// does not matter: servers that send one mean the date. A two-digit year is one of 1970 to 2069.
  package static func parse(_ text: String) -> Date? {
    // The longest is "Wednesday, 06-Nov-94 08:49:37 GMT", with 33 bytes.
    let text = text.trimmingOWS
    guard text.utf8.count <= 40, isInOneForm(text) else { return nil }
    var words = text.split { " -:".contains($0) }
    if words.count == 7 {
      // In the order of the first form.
      words = [
        words[0] + ",", words[2], words[1], words[6], words[3], words[4], words[5], "GMT",
      ]
    }
    let numbers = [1, 3, 4, 5, 6].compactMap { Int(words[$0]) }
    guard days.contains(words[0]), words[7] == "GMT", numbers.count == 5,
      let month = months.firstIndex(of: words[2]),
      // 60: a leap second.
      numbers[2] < 24, numbers[3] < 60, numbers[4] <= 60
    else { return nil }
    var year = numbers[1]
    if words[3].utf8.count == 2 { year += year < 70 ? 2000 : 1900 }
    var fields = tm()
    fields.tm_year = Int32(year - 1900)
    fields.tm_mon = Int32(month)
    fields.tm_mday = Int32(numbers[0])
    let midnight = timegm(&fields)
    // 30 February has become a day of March.
    guard Int(fields.tm_mday) == numbers[0] else { return nil }
    let seconds = numbers[2] * 3600 + numbers[3] * 60 + numbers[4]
    return Date(timeIntervalSince1970: Double(midnight + seconds))
  }

  private static func isInOneForm(_ text: Substring) -> Bool {
    let shape = text.utf8.map { byte in
      byte.isDigit ? UInt8(ascii: "0") : byte.isLetter ? UInt8(ascii: "a") : byte
    }
    let rest = shape.drop { $0 == UInt8(ascii: "a") }
    // "Sun" or "Friday": no name of a day has four or five letters.
    let forms =
      shape.count - rest.count < 6
      ? [", 00 aaa 0000 00:00:00 aaa", " aaa 00 00:00:00 0000", " aaa  0 00:00:00 0000"]
      : [", 00-aaa-00 00:00:00 aaa"]
    return forms.contains { rest.elementsEqual($0.utf8) }
  }

  /// Returns the date as IMF-fixdate, in whole seconds, rounded down. Dates outside the years 0 to
  /// 9999 become the first or the last that can be written.
  package static func format(_ date: Date) -> String {
    let fields = civil(date)
    let year = Int32(fields.tm_year) + 1900
    return "\(days[Int(fields.tm_wday)]) \(two(fields.tm_mday)) \(months[Int(fields.tm_mon)]) "
      + "\(two(year / 100))\(two(year % 100)) "
      + "\(two(fields.tm_hour)):\(two(fields.tm_min)):\(two(fields.tm_sec)) GMT"
  }

  private static let days: [Substring] = [
    "Sun,", "Mon,", "Tue,", "Wed,", "Thu,", "Fri,", "Sat,", "Sunday,", "Monday,", "Tuesday,",
    "Wednesday,", "Thursday,", "Friday,", "Saturday,",
  ]
  private static let months: [Substring] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// Within the years that HTTP can write, and gmtime_r(3) can represent, whatever the clock says.
  private static func civil(_ date: Date) -> tm {
    let seconds = date.timeIntervalSince1970
    let bounded = min(max(seconds.isNaN ? 0 : seconds, -62_167_219_200), 253_402_300_799)
    var time = time_t(bounded.rounded(.down))
    var fields = tm()
    gmtime_r(&time, &fields)
    return fields
  }
}
