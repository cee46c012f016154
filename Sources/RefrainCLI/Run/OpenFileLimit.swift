// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// How many files and connections this process may have open.
enum OpenFileLimit {
  /// Raises the soft limit to the hard one (setrlimit(2)): the usual soft limit of 1024 is there
  /// for programs that use select(2), which this one does not. Where it fails, the limit stays.
  static func raise() {
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let resource = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    #if canImport(Darwin)
      // More than that is refused there (setrlimit(2)).
      limit.rlim_cur = min(limit.rlim_max, rlim_t(OPEN_MAX))
    #else
      limit.rlim_cur = limit.rlim_max
    #endif
    _ = setrlimit(resource, &limit)
  }
}
