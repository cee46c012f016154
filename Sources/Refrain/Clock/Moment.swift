// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// A point in time by the wall clock, which may be set, and by one that only moves forward.
package struct Moment: Sendable, Hashable {
  package var wall: Date
  package var uptime: Uptime

  package init(wall: Date, uptime: Uptime) { (self.wall, self.uptime) = (wall, uptime) }

  package static var now: Moment { Moment(wall: Date(), uptime: .now) }
}

/// A time since the machine was started, sleep included. Comparable between processes.
package struct Uptime: Codable, Sendable, Hashable {
  package var seconds: Double
  package var boot: String

  package func seconds(since earlier: Uptime) -> Double? {
    boot == earlier.boot ? seconds - earlier.seconds : nil
  }

  /// Whether this time is not earlier; false if the other was in another run of the machine.
  package func isAfter(_ earlier: Uptime) -> Bool {
    seconds(since: earlier).map { $0 >= 0 } ?? false
  }

  package static func + (uptime: Uptime, seconds: Double) -> Uptime {
    Uptime(seconds: uptime.seconds + seconds, boot: uptime.boot)
  }

  package static var now: Uptime {
    var time = timespec()
    #if canImport(Darwin)
      // This clock continues while the machine sleeps, unlike CLOCK_UPTIME_RAW (clock_gettime(3)).
      clock_gettime(CLOCK_MONOTONIC_RAW, &time)
    #else
      clock_gettime(CLOCK_BOOTTIME, &time)
    #endif
    return Uptime(
      seconds: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9, boot: BootIdentity.current)
  }
}

extension Duration {
  var seconds: Double { self / .seconds(1) }
}

/// Distinguishes one boot of the machine from the next: until then, bytes need no sync.
enum BootIdentity {
  /// If the system reveals none, a value that no other process has: no unsynced bytes are trusted.
  static let current = ofSystem() ?? "unknown-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"

  private static func ofSystem() -> String? {
    #if canImport(Darwin)
      // A sandbox may refuse the first. The second changes when the clock is set, too (sysctl(3)).
      var buffer = [UInt8](repeating: 0, count: 64)
      var size = buffer.count
      if sysctlbyname("kern.bootsessionuuid", &buffer, &size, nil, 0) == 0, buffer[0] != 0 {
        return String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
      }
      var time = timeval()
      size = MemoryLayout<timeval>.size
      guard sysctlbyname("kern.boottime", &time, &size, nil, 0) == 0, time.tv_sec > 0 else {
        return nil
      }
      return "boottime-\(time.tv_sec).\(time.tv_usec)"
    #else
      // random(4).
      let contents = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id")
      return contents.flatMap { $0.isEmpty ? nil : String(decoding: $0.prefix(36), as: UTF8.self) }
    #endif
  }
}
