// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// What time it is, by two clocks: the one on the wall, which HTTP's dates are of and which may be
/// set; and one that only goes forward, as long as the machine runs.
package struct Moment: Sendable, Hashable {
  package var wall: Date
  package var uptime: Uptime

  package init(wall: Date, uptime: Uptime) {
    self.wall = wall
    self.uptime = uptime
  }

  package static var now: Moment { Moment(wall: Date(), uptime: .now) }
}

/// A time since the machine was started, sleep included. Comparable between processes, and within one
/// run of the machine only.
package struct Uptime: Codable, Sendable, Hashable {
  package var seconds: Double
  /// Which run of the machine (`BootIdentity`).
  package var boot: String

  /// Seconds since an earlier time; nil where that was in another run of the machine.
  package func seconds(since earlier: Uptime) -> Double? {
    boot == earlier.boot ? seconds - earlier.seconds : nil
  }

  package static func + (uptime: Uptime, seconds: Double) -> Uptime {
    Uptime(seconds: uptime.seconds + seconds, boot: uptime.boot)
  }

  package static var now: Uptime {
    var time = timespec()
    #if canImport(Darwin)
      // This one goes on while the machine sleeps, unlike CLOCK_UPTIME_RAW (clock_gettime(3)).
      clock_gettime(CLOCK_MONOTONIC_RAW, &time)
    #else
      clock_gettime(CLOCK_BOOTTIME, &time)
    #endif
    return Uptime(
      seconds: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9, boot: BootIdentity.current)
  }
}

extension Duration {
  /// In seconds.
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
