// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Dates in HTTP's three forms (RFC 9110 §5.6.7). Parsed and written without a formatter, which
/// would be slow, and depend on the locale.
///
///     Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate
///     Sunday, 06-Nov-94 08:49:37 GMT    RFC 850, obsolete
///     Sun Nov  6 08:49:37 1994          asctime(), obsolete
package enum HTTPDate {
  /// Returns the date, or nil if it is in none of the forms or does not exist (30 February). The
  /// day of the week is not checked against the date: servers that get it wrong mean the date.
  ///
  /// - Parameters:
  ///   - now: a two-digit year is the last such year no more than 50 years after this.
  ///   - isStrict: whether the date has to follow the grammar, since it decides how long a response is
  ///     fresh (RFC 9111 §5.3). Otherwise "UTC", extra spaces, single digits and hyphens are accepted.
  package static func parse(
    _ text: String, now: Date = Moment.now.wall, isStrict: Bool = false
  ) -> Date? {
    // The longest is "Wednesday, 06-Nov-94 08:49:37 GMT", with 33 bytes.
    let text = text.trimmingOWS
    guard text.utf8.count <= 40, !isStrict || isInOneForm(text) else { return nil }
    var words = text.split(separator: " ")
    if words.count == 5 {
      // In the order of the first form.
      words = [words[0] + ",", words[2], words[1], words[4], words[3], "GMT"]
    } else if words.count == 4 {
      words.replaceSubrange(
        1...1, with: words[1].split(separator: "-", omittingEmptySubsequences: false))
    }
    // RFC 9110 allows only "GMT", but mentions that some servers send "UTC".
    guard words.count == 6, days.contains(words[0]), words[5] == "GMT" || words[5] == "UTC",
      let day = number(words[1], digits: 1...2), let month = months.firstIndex(of: words[2]),
      var year = number(words[3], digits: 2...4), words[3].utf8.count != 3
    else { return nil }
    if words[3].utf8.count == 2 {
      // Only RFC 850 has such years.
      guard text.utf8.contains(UInt8(ascii: "-")) else { return nil }
      let latest = Int(civil(now).tm_year) + 1900 + 50
      year += latest / 100 * 100
      if year > latest { year -= 100 }
    }
    let time = words[4].split(separator: ":", omittingEmptySubsequences: false)
      .compactMap { number($0, digits: 2...2) }
    // 60: a leap second.
    guard words[4].utf8.count == 8, time.count == 3, time[0] < 24, time[1] < 60, time[2] <= 60
    else { return nil }
    var fields = tm()
    fields.tm_year = Int32(year - 1900)
    fields.tm_mon = Int32(month)
    fields.tm_mday = Int32(day)
    let midnight = timegm(&fields)
    // 30 February has become a day of March.
    guard Int(fields.tm_mday) == day else { return nil }
    return Date(timeIntervalSince1970: Double(midnight + time[0] * 3600 + time[1] * 60 + time[2]))
  }

  /// Whether spaces, hyphens, letters and digits are where one of the three forms has them. A text
  /// that passes this and lenient parsing is strictly valid.
  private static func isInOneForm(_ text: some StringProtocol) -> Bool {
    let shape = text.utf8.map { byte in
      byte.isDigit ? UInt8(ascii: "0") : byte.isLetter ? UInt8(ascii: "a") : byte
    }
    let rest = shape.drop { $0 == UInt8(ascii: "a") }
    // "Sun" or "Friday": no name of a day has four or five letters.
    let forms =
      shape.count - rest.count < 6
      ? [", 00 aaa 0000 00:00:00 aaa", " aaa 00 00:00:00 0000", " aaa  0 00:00:00 0000"]
      : [", 00-aaa-00 00:00:00 aaa"]
    return !text.hasSuffix("UTC") && forms.contains { rest.elementsEqual($0.utf8) }
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

  private static func number(_ word: Substring, digits: ClosedRange<Int>) -> Int? {
    digits.contains(word.utf8.count) ? Int64(digits: word).map { Int($0) } : nil
  }

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
