// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// The limit of open files and connections of this process.
enum OpenFileLimit {
  /// Raises the soft limit to the hard one (setrlimit(2)): the usual soft limit of 1024 exists for
  /// programs that use select(2), which this one does not. On failure the limit stays.
  static func raise() {
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let resource = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    #if canImport(Darwin)
      // A higher limit is refused there (setrlimit(2)).
      limit.rlim_cur = min(limit.rlim_max, rlim_t(OPEN_MAX))
    #else
      limit.rlim_cur = limit.rlim_max
    #endif
    _ = setrlimit(resource, &limit)
  }
}
