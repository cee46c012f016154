// SPDX-License-Identifier: MIT
import Foundation

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
