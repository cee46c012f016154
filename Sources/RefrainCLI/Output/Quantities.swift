// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Byte counts, as people write and read them.
enum ByteSize {
  /// Reads `500M`, `1.5G`, `2GiB`, `700MB` or `4096`. `M` and `MiB` count in 1024s, `MB` in 1000s.
  static func parse(_ text: String) throws -> Int64 {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unit = text.dropFirst(digits.count).drop { $0 == " " }
    guard digits.first?.isNumber == true, let number = Double(digits) else {
      throw InvalidArgument("a size is a number and a unit, as in 500M, 10G or 2GiB")
    }
    guard let factor = factor(of: unit.lowercased()) else {
      throw InvalidArgument("'\(unit)' is not a unit of size. Use K, M, G or T, KiB…, KB…")
    }
    let bytes = number * factor
    guard bytes < 9e18 else { throw InvalidArgument("the size is larger than any disk") }
    return Int64(bytes.rounded())
  }

  private static func factor(of unit: String) -> Double? {
    if unit.isEmpty || unit == "b" { return 1 }
    guard let first = unit.first, let index = "kmgt".firstIndex(of: first) else { return nil }
    let power = Double("kmgt".distance(from: "kmgt".startIndex, to: index) + 1)
    switch unit.dropFirst() {
    case "", "ib": return pow(1024, power)
    case "b": return pow(1000, power)
    default: return nil
    }
  }

  /// `0 B`, `731 B`, `12.3 MiB`, `4.0 GiB`.
  static func text(_ bytes: Int64) -> String {
    guard bytes >= 1024 else { return "\(bytes) B" }
    var value = Double(bytes) / 1024
    var units = ["KiB", "MiB", "GiB", "TiB", "PiB"][...]
    // 1023.96 would be written 1024.0.
    while value >= 1023.95, units.count > 1 {
      value /= 1024
      units.removeFirst()
    }
    // A log has such a text in each line: formatting by a pattern takes ten times as long.
    let tenths = Int((value * 10).rounded(.toNearestOrEven))
    return "\(tenths / 10).\(tenths % 10) \(units.first ?? "")"
  }
}

/// The most bytes that the cache may store; nil for no limit.
struct ByteLimit: Sendable, Hashable {
  var bytes: Int64?

  static let standard = ByteLimit(bytes: MediaCache.Configuration().limit)

  init(bytes: Int64?) { self.bytes = bytes }

  /// Reads a size, or `none`.
  init(parsing text: String) throws {
    if text.lowercased() == "none" {
      bytes = nil
      return
    }
    let size = try ByteSize.parse(text)
    guard size > 0 else {
      throw InvalidArgument("a limit of 0 would store nothing. Use 'none' for no limit")
    }
    bytes = size
  }
}

/// An error in an argument: a clause that continues "the value 'x' is invalid:".
struct InvalidArgument: Error, CustomStringConvertible, Equatable {
  var description: String

  init(_ description: String) { self.description = description }
}

/// Positions and time spans, as people write and read them.
enum TimeText {
  /// Reads `90`, `12.5`, `1:30` or `1:02:03`.
  static func parse(_ text: String) throws -> Duration {
    let wrong = InvalidArgument("a position is written in seconds, as in 90 or 12.5, or as in 1:30")
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard (1...3).contains(parts.count) else { throw wrong }
    var seconds = 0.0
    for (index, part) in parts.enumerated() {
      let isLast = index == parts.count - 1
      guard part.allSatisfy({ $0.isASCII && ($0.isNumber || (isLast && $0 == ".")) }),
        let value = Double(part), index == 0 || value < 60
      else { throw wrong }
      seconds = seconds * 60 + value
    }
    guard seconds < 1e9 else { throw wrong }
    return .seconds(seconds)
  }

  /// `0:07`, `12:30`, `1:02:03`.
  static func position(_ time: Duration) -> String {
    let all = max(0, time.components.seconds)
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60)
    return hours > 0
      ? String(format: "%d:%02d:%02d", hours, minutes, seconds)
      : String(format: "%d:%02d", minutes, seconds)
  }

  /// `83 ms`, `2.4 s`.
  static func span(_ time: Duration) -> String {
    time < .seconds(1)
      ? "\(Int((time / .milliseconds(1)).rounded())) ms"
      : String(format: "%.1f s", time / .seconds(1))
  }
}

enum DateText {
  /// Returns `2026-03-01 17:05`, by default in the user's time zone.
  static func minute(_ date: Date, in zone: TimeZone = .current) -> String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute], from: date)
    return String(
      format: "%04d-%02d-%02d %02d:%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0,
      parts.hour ?? 0, parts.minute ?? 0)
  }
}
