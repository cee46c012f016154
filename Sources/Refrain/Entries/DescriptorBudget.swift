// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// Divides the files and sockets that this process may have open. When none is left, libdispatch on
/// Linux ends the process. So some stay free; the open entries of a cache and the clients of a proxy
/// take half of the rest each. An entry has a data file, a journal, a lock, and a connection to the
/// origin; a client has its socket, and a file that is being sent although its entry was closed, or a
/// further connection to an origin.
package enum DescriptorBudget {
  /// For event loops, threads that open a file briefly, clients that are refused, and idle
  /// connections to origins (`CurlThread`).
  private static let reserve = 64 + 32

  package static var limit: Int {
    // Negative for no limit.
    let limit = sysconf(Int32(_SC_OPEN_MAX))
    return limit < 0 ? .max : limit
  }

  /// The connections of a proxy's operator. Part of the reserve, where there are few.
  package static var forOperator: Int { min(64, max(16, limit / 32)) }

  /// The number of open entries of a cache. The limit can be changed from outside (prlimit(1)).
  package static var forEntries: Int { max(4, (limit - reserve) / 8) }

  /// A proxy's clients by default.
  package static var forClients: Int { min(max(8, (limit - reserve) / 4), 100_000) }

  package static var forClientsAtMost: Int { max(8, limit - reserve) }

  /// Raises the soft limit to the hard one (setrlimit(2)): the usual soft limit of 1024 exists for
  /// programs that use select(2). Never lowers it; on failure it stays.
  package static func raiseLimit() {
    #if canImport(Glibc)
      let (resource, most) = (__rlimit_resource_t(RLIMIT_NOFILE.rawValue), rlim_t.max)
    #else
      // setrlimit(2) refuses a higher limit there.
      let (resource, most) = (RLIMIT_NOFILE, rlim_t(OPEN_MAX))
    #endif
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return }
    let highest = min(limit.rlim_max, most)
    guard highest > limit.rlim_cur else { return }
    limit.rlim_cur = highest
    _ = setrlimit(resource, &limit)
  }
}
