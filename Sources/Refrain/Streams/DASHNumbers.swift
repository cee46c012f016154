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
