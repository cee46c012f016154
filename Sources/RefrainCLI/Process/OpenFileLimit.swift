// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// The limit of open files and connections of this process.
enum OpenFileLimit {
  /// Raises the soft limit to the hard one (setrlimit(2)): the usual soft limit of 1024 exists for
  /// programs that use select(2), which this one does not. Never lowers it; on failure it stays.
  static func raise() {
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let resource = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return }
    #if canImport(Darwin)
      // setrlimit(2) refuses a higher limit there.
      let most = rlim_t(OPEN_MAX)
    #else
      let most = rlim_t.max
    #endif
    guard let raised = raised(limit.rlim_cur, hard: limit.rlim_max, most: most) else { return }
    limit.rlim_cur = raised
    _ = setrlimit(resource, &limit)
  }

  /// Returns the soft limit to set in place of `soft`; nil if it is as high already.
  static func raised<Limit: FixedWidthInteger>(_ soft: Limit, hard: Limit, most: Limit) -> Limit? {
    let target = min(hard, most)
    return target > soft ? target : nil
  }
}
