// SPDX-License-Identifier: MIT
package import Foundation

/// Dates in HTTP's three forms (RFC 9110 §5.6.7). Parsed and written without a formatter, which
/// would be slow, and depend on the locale.
///
///     Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate
///     Sunday, 06-Nov-94 08:49:37 GMT    RFC 850, obsolete
///     Sun Nov  6 08:49:37 1994          asctime(), obsolete
package enum HTTPDate {
  /// How closely a date has to follow the grammar.
  package enum Reading: Sendable {
    /// Exactly: for a date that decides how long a response is fresh (RFC 9111 §5.3).
    case strict
    /// Accepts "UTC" for "GMT", extra spaces, single digits and hyphens: the date is clear, and
    /// nothing becomes fresher by it.
    case lenient
  }

  /// Returns the date, or nil if it is in none of the forms or does not exist (30 February). The
  /// day of the week is not checked against the date: servers that get it wrong mean the date.
  ///
  /// - Parameter now: a two-digit year is the last such year no more than 50 years after this.
  package static func parse(
    _ text: String, now: Date = Moment.now.wall, _ reading: Reading = .lenient
  ) -> Date? {
    // The longest is "Wednesday, 06-Nov-94 08:49:37 GMT", with 33 bytes.
    let trimmed = text.trimmingOWS
    guard trimmed.utf8.count <= 40, reading == .lenient || isInOneForm(trimmed) else { return nil }
    let words = trimmed.split(separator: " ", omittingEmptySubsequences: true)
    switch words.count {
    case 6:  // "Sun," "06" "Nov" "1994" "08:49:37" "GMT"
      guard isDayName(words[0], among: shortDays, comma: true), isUTC(words[5]),
        let day = number(words[1], digits: 1...2), let month = month(words[2]),
        let year = number(words[3], digits: 4...4)
      else { return nil }
      return date(year, month, day, words[4])
    case 4:  // "Sunday," "06-Nov-94" "08:49:37" "GMT"
      let parts = words[1].split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 3, isUTC(words[3]),
        isDayName(words[0], among: longDays, comma: true)
          || isDayName(words[0], among: shortDays, comma: true),
        let day = number(parts[0], digits: 1...2), let month = month(parts[1])
      else { return nil }
      if let year = number(parts[2], digits: 4...4) { return date(year, month, day, words[2]) }
      guard let twoDigits = number(parts[2], digits: 2...2) else { return nil }
      return date(fullYear(twoDigits, now: now), month, day, words[2])
    case 5:  // "Sun" "Nov" "6" "08:49:37" "1994"
      guard isDayName(words[0], among: shortDays, comma: false), let month = month(words[1]),
        let day = number(words[2], digits: 1...2), let year = number(words[4], digits: 4...4)
      else { return nil }
      return date(year, month, day, words[3])
    default:
      return nil
    }
  }

  /// Whether spaces, hyphens, letters and digits are where one of the three forms has them. A text
  /// that passes this and lenient parsing is strictly valid.
  private static func isInOneForm(_ text: some StringProtocol) -> Bool {
    let shape = text.utf8.map { byte -> UInt8 in
      switch byte {
      case 0x30...0x39: UInt8(ascii: "0")
      case 0x41...0x5A, 0x61...0x7A: UInt8(ascii: "a")
      default: byte
      }
    }
    if shape.elementsEqual("aaa, 00 aaa 0000 00:00:00 aaa".utf8)
      || shape.elementsEqual("aaa aaa 00 00:00:00 0000".utf8)
      || shape.elementsEqual("aaa aaa  0 00:00:00 0000".utf8)
    {
      return !text.hasSuffix("UTC")
    }
    // "Friday", "Wednesday": no short name is among those with six letters and more.
    let afterName = shape.drop { $0 == UInt8(ascii: "a") }
    return shape.count - afterName.count >= 6
      && afterName.elementsEqual(", 00-aaa-00 00:00:00 aaa".utf8) && !text.hasSuffix("UTC")
  }

  /// Returns the date as IMF-fixdate, in whole seconds, rounded down. Dates outside the years 0 to
  /// 9999 become the first or the last that can be written.
  package static func format(_ date: Date) -> String {
    let seconds = date.timeIntervalSince1970
    let first: Double = -62_167_219_200
    let last: Double = 253_402_300_799
    let whole = Int(seconds.isNaN ? 0 : min(max(seconds, first), last).rounded(.down))
    var days = whole / 86_400
    var second = whole % 86_400
    if second < 0 {
      second += 86_400
      days -= 1
    }
    let (year, month, day) = civil(fromDays: days)
    let weekday = shortDays[((days + 3) % 7 + 7) % 7]
    let time = "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
    let fourDigits = two(year / 100) + two(year % 100)
    return "\(weekday), \(two(day)) \(months[month - 1]) \(fourDigits) \(time) GMT"
  }

  private static let shortDays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
  private static let longDays = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func isDayName(_ word: Substring, among names: [String], comma: Bool) -> Bool {
    if comma { return word.last == "," && names.contains(String(word.dropLast())) }
    return names.contains(String(word))
  }

  /// RFC 9110 allows only "GMT", but mentions that some servers send "UTC".
  private static func isUTC(_ word: Substring) -> Bool { word == "GMT" || word == "UTC" }

  private static func month(_ word: Substring) -> Int? {
    months.firstIndex(of: String(word)).map { $0 + 1 }
  }

  private static func number(_ word: Substring, digits: ClosedRange<Int>) -> Int? {
    guard digits.contains(word.utf8.count) else { return nil }
    return Int64(digits: word).map(Int.init)
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func fullYear(_ twoDigits: Int, now: Date) -> Int {
    let seconds = now.timeIntervalSince1970
    let days = seconds.isFinite ? Int(min(max(seconds / 86_400, -700_000), 2_900_000)) : 0
    let thisYear = civil(fromDays: days).year
    let year = thisYear / 100 * 100 + 100 + twoDigits
    if year - thisYear > 100 + 50 { return year - 200 }
    return year - thisYear > 50 ? year - 100 : year
  }

  private static func date(_ year: Int, _ month: Int, _ day: Int, _ time: Substring) -> Date? {
    let parts = time.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, let hour = number(parts[0], digits: 2...2),
      let minute = number(parts[1], digits: 2...2), let second = number(parts[2], digits: 2...2),
      hour < 24, minute < 60, second <= 60,  // 60: a leap second
      day >= 1, day <= length(ofMonth: month, year: year)
    else { return nil }
    let days = days(fromCivil: year, month, day)
    return Date(timeIntervalSince1970: Double(days * 86_400 + hour * 3600 + minute * 60 + second))
  }

  private static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Returns the days from 1 January 1970 in the proleptic Gregorian calendar, for years from 0 on:
  /// counted in eras of 400 years that begin on 1 March, so that the leap day comes last.
  private static func days(fromCivil year: Int, _ month: Int, _ day: Int) -> Int {
    let shifted = (month <= 2 ? year - 1 : year) + 400
    let era = shifted / 400
    let yearOfEra = shifted % 400
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return (era - 1) * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
      - 719_468
  }

  private static func civil(fromDays days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468 + 146_097
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    let year = yearOfEra + (era - 1) * 400 + (month <= 2 ? 1 : 0)
    return (year, month, day)
  }
}
