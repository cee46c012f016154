// SPDX-License-Identifier: MIT

/// Values of attributes of an MPD. None traps.
enum DASHNumbers {
  private static let longest = 64

  /// Returns the seconds of an xs:duration without years and months, as in MPDs: `PT1M2.5S`.
  static func seconds(_ text: String) -> Double? {
    guard text.utf8.count <= longest, text.hasPrefix("P") else { return nil }
    var sum = 0.0
    var number = ""
    var isTime = false
    for character in text.dropFirst() {
      switch character {
      case "T" where !isTime && number.isEmpty: isTime = true
      case "0"..."9", ".": number.append(character)
      default:
        let units: [Character: Double] = isTime ? ["H": 3600, "M": 60, "S": 1] : ["D": 86_400]
        guard let unit = units[character], let value = Double(number) else { return nil }
        sum += value * unit
        number = ""
      }
    }
    return number.isEmpty && sum.isFinite ? min(sum, Double(CacheControl.longest)) : nil
  }

  /// Returns the seconds since 1970 of an xs:dateTime: `2026-01-31T12:00:00.5Z`. Without a time zone
  /// it is in UTC.
  static func date(_ text: String) -> Double? {
    guard text.utf8.count <= longest, let mark = text.firstIndex(of: "T") else { return nil }
    let day = text[..<mark].split(separator: "-", omittingEmptySubsequences: false)
      .compactMap { Int64(digits: $0) }
    guard day.count == 3, day[0] <= 9999, (1...12).contains(day[1]), (1...31).contains(day[2])
    else { return nil }
    var clock = text[text.index(after: mark)...]
    var offset = 0.0
    if clock.hasSuffix("Z") {
      clock = clock.dropLast()
    } else if let sign = clock.lastIndex(where: { $0 == "+" || $0 == "-" }) {
      guard let zone = timeOfDay("\(clock[clock.index(after: sign)...]):0") else { return nil }
      offset = clock[sign] == "+" ? zone : -zone
      clock = clock[..<sign]
    }
    guard let time = timeOfDay(String(clock)) else { return nil }
    return Double(days(year: day[0], month: day[1], day: day[2])) * 86_400 + time - offset
  }

  /// Returns the seconds of `12:00:00.5`.
  private static func timeOfDay(_ text: String) -> Double? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, let hours = Int64(digits: parts[0]), hours <= 24,
      let minutes = Int64(digits: parts[1]), minutes < 60,
      parts[2].utf8.allSatisfy({ $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }),
      let seconds = Double(String(parts[2])), seconds <= 60
    else { return nil }
    return Double(hours * 3600 + minutes * 60) + seconds
  }

  /// Returns the days from 1970 to a date of the Gregorian calendar. Years begin with March, so that
  /// the leap day is the last one.
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    let leapDays = year / 4 - year / 100 + year / 400
    return year * 365 + leapDays + dayOfYear - 719_468
  }

  /// Returns the range of `0-499`; nil if the text is none.
  static func byteRange(_ text: String) -> ByteRange? {
    let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]),
      first <= last, last < .max - 1
    else { return nil }
    return first..<(last + 1)
  }

  /// Returns `25`, or `30000/1001`, in pictures per second.
  static func frameRate(_ text: String) -> Double? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let first = parts.first.flatMap({ Int64(digits: $0) }) else {
      return nil
    }
    guard parts.count == 2 else { return Double(first) }
    guard let second = Int64(digits: parts[1]), second > 0 else { return nil }
    return Double(first) / Double(second)
  }
}
