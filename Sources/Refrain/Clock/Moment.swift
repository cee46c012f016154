// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A point in time by two clocks: the wall clock, which HTTP dates use and which may be set; and
/// one that only moves forward, while the machine runs.
package struct Moment: Sendable, Hashable {
  package var wall: Date
  package var uptime: Uptime

  package init(wall: Date, uptime: Uptime) {
    self.wall = wall
    self.uptime = uptime
  }

  package static var now: Moment { Moment(wall: Date(), uptime: .now) }
}

/// A time since the machine was started, sleep included. Comparable between processes, but only
/// within one run of the machine.
package struct Uptime: Codable, Sendable, Hashable {
  package var seconds: Double
  /// The identity of the machine's run (`BootIdentity`).
  package var boot: String

  /// Returns the seconds since an earlier time; nil if that was in another run of the machine.
  package func seconds(since earlier: Uptime) -> Double? {
    boot == earlier.boot ? seconds - earlier.seconds : nil
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
  /// The duration in seconds.
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
