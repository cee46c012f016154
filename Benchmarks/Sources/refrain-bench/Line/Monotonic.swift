// SPDX-License-Identifier: MIT
import Foundation

/// Seconds of a clock that is never set, and precise sleeping by it.
enum Monotonic {
  static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Blocks the thread until `time`; returns at once if `time` is past.
  static func sleep(until time: Double) {
    while true {
      let left = time - now
      guard left > 0 else { return }
      var pause = timespec(tv_sec: Int(left), tv_nsec: Int((left - left.rounded(.down)) * 1e9))
      nanosleep(&pause, nil)
    }
  }
}
