// SPDX-License-Identifier: MIT
import RefrainPlayer

/// The dates and times of feeds, as their authors write them. Parsed without a formatter, which
/// would be slow, and depend on the locale.
enum FeedTime {
  // MARK: Durations

  /// Parses seconds, minutes and seconds, or hours, minutes and seconds: `754`, `12:34`,
  /// `1:02:03.5`.
  static func duration(_ text: some StringProtocol) -> Duration? {
    let parts = trimmed(text).split(separator: ":", omittingEmptySubsequences: false)
    guard (1...3).contains(parts.count) else { return nil }
    var seconds = 0.0
    for part in parts {
      guard part.utf8.count <= 20, part.utf8.allSatisfy({ isDigit($0) || $0 == 0x2E }),
        let number = Double(part)
      else { return nil }
      seconds = seconds * 60 + number
    }
    return Duration(ofMedia: seconds)
  }

  // MARK: Dates

  /// Parses a date of RSS (RFC 822 §5, and years of four digits) or of Atom (RFC 3339).
  ///
  /// - Returns: the seconds since 1970; nil if it is neither.
  static func date(_ text: some StringProtocol) -> Double? {
    let text = trimmed(text).prefix(64)
    return internetDate(text) ?? mailDate(text)
  }

  /// `2026-11-23T07:20:00.5+01:00`; without a time, the start of the day.
  private static func internetDate(_ text: Substring) -> Double? {
    let parts = text.split(maxSplits: 1) { $0 == "T" || $0 == "t" || $0 == " " }
    guard let first = parts.first else { return nil }
    let numbers = first.split(separator: "-", omittingEmptySubsequences: false)
    guard numbers.count == 3, numbers[0].utf8.count == 4,
      let year = number(numbers[0]), let month = number(numbers[1]), let day = number(numbers[2])
    else { return nil }
    guard parts.count == 2 else { return seconds(year, month, day, 0, 0) }
    let mark = parts[1].firstIndex { "Zz+-".contains($0) } ?? parts[1].endIndex
    guard let time = timeOfDay(parts[1][..<mark]) else { return nil }
    return seconds(year, month, day, time, zone(parts[1][mark...]))
  }

  /// `Mon, 23 Nov 2026 07:20:00 +0100`; the day of the week, the seconds and the zone may be
  /// missing.
  private static func mailDate(_ text: Substring) -> Double? {
    var words = text.split { $0 == " " || $0 == "," || $0 == "\t" || $0 == "\n" }[...]
    if let first = words.first, number(first) == nil { words = words.dropFirst() }
    guard words.count >= 3, let day = number(words.removeFirst()) else { return nil }
    let name = words.removeFirst().prefix(3).lowercased()
    let digits = words.removeFirst()
    guard let month = months.firstIndex(of: name), var year = number(digits) else { return nil }
    if digits.utf8.count <= 2 { year += year < 70 ? 2000 : 1900 }
    let time = words.popFirst().map(timeOfDay) ?? .some(0)
    guard let time else { return nil }
    return seconds(year, month + 1, day, time, words.first.map(zone) ?? 0)
  }

  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  private static let zones = [
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
  ]

  /// Returns the seconds east of Greenwich; 0 for a zone that is not known.
  private static func zone(_ text: Substring) -> Double {
    guard let sign = text.first, sign == "+" || sign == "-" else {
      return Double(zones[text.uppercased()] ?? 0) * 3600
    }
    let digits = text.dropFirst().filter { $0 != ":" }
    guard digits.utf8.count == 4, let value = number(digits[...]) else { return 0 }
    return Double(value / 100 * 3600 + value % 100 * 60) * (sign == "-" ? -1 : 1)
  }

  /// Returns the seconds since midnight.
  private static func timeOfDay(_ text: Substring) -> Double? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), let hours = number(parts[0]),
      let minutes = number(parts[1]), hours < 25, minutes < 60
    else { return nil }
    let seconds = parts.count > 2 ? Double(parts[2]) : 0
    guard let seconds, (0..<62).contains(seconds) else { return nil }
    return Double(hours * 3600 + minutes * 60) + seconds
  }

  /// - Parameter zone: seconds east of Greenwich.
  private static func seconds(
    _ year: Int, _ month: Int, _ day: Int, _ time: Double, _ zone: Double
  ) -> Double? {
    guard (1900...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else {
      return nil
    }
    // Days since 1970, of a calendar whose years begin in March, so that a leap day comes last.
    let shifted = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    return Double(days) * 86_400 + time - zone
  }

  // MARK: Characters

  private static func number(_ text: Substring) -> Int? {
    guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy(isDigit) else { return nil }
    return Int(text)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func trimmed(_ text: some StringProtocol) -> Substring {
    var text = Substring(text.prefix(256))
    while text.first?.isWhitespace == true { text = text.dropFirst() }
    while text.last?.isWhitespace == true { text = text.dropLast() }
    return text
  }
}
