// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Darwin)
  import Darwin
#endif

extension CacheProxy {
  /// A part of each day, in local time: from a minute on, and up to another one. A pure value.
  public struct FillHours: Sendable, Hashable {
    /// The minutes after midnight at which it begins and ends.
    private let start: Int
    private let end: Int

    private static let day = 24 * 60

    /// Reads `01-07`, `22-06`, which is over midnight, or `01:30-07:15`. Nil if it is not of that
    /// form, or is empty.
    public init?(parsing text: String) {
      let times = text.split(separator: "-", omittingEmptySubsequences: false)
      guard times.count == 2, let start = Self.minute(times[0]), let end = Self.minute(times[1]),
        start % Self.day != end % Self.day || (start, end) == (0, Self.day)
      else { return nil }
      (self.start, self.end) = (start, end)
    }

    /// Whether it contains a minute, counted from midnight.
    public func contains(minute: Int) -> Bool {
      start < end ? (start..<end).contains(minute) : minute >= start || minute < end
    }

    /// Reads `7`, `07`, `07:30` or `24`.
    private static func minute(_ text: Substring) -> Int? {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      let isPlain = parts.allSatisfy {
        (1...2).contains($0.utf8.count) && $0.utf8.allSatisfy { (48...57).contains($0) }
      }
      guard isPlain, parts.count <= 2, let hour = Int(parts[0]) else { return nil }
      guard let minute = parts.count == 2 ? Int(parts[1]) : 0, minute < 60,
        parts.count == 1 || parts[1].utf8.count == 2
      else { return nil }
      let total = hour * 60 + minute
      return total <= day ? total : nil
    }

    /// Returns the minutes since midnight, in local time.
    static func minuteOfDay(_ date: Date = Date()) -> Int {
      var seconds = time_t(date.timeIntervalSince1970)
      var local = tm()
      localtime_r(&seconds, &local)
      return Int(local.tm_hour) * 60 + Int(local.tm_min)
    }
  }
}
