// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// How the files and sockets that this process may have open (getrlimit(2)) are shared out.
///
/// Where none is left, more fails than what asked for it: the system's own libraries end the process.
/// So some stay free, and the rest is shared by the clients of a proxy, which take one each, and by
/// open entries, which take three each: a data file, a journal, and a connection to the origin.
package enum DescriptorBudget {
  /// For event loops, threads that open a file for a moment, and whatever else the process does.
  private static let reserve = 64

  package static var limit: Int {
    var limit = rlimit()
    #if canImport(Glibc)
      guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 256 }
    #else
      guard getrlimit(RLIMIT_NOFILE, &limit) == 0 else { return 256 }
    #endif
    return Int(clamping: limit.rlim_cur)
  }

  private static var fifth: Int { max(0, limit - reserve) / 5 }

  /// How many entries may be open.
  package static var forEntries: Int { max(4, fifth) }

  /// How many clients a proxy may serve at a time.
  package static var forClients: Int { min(max(8, 2 * fifth), 100_000) }

  /// How many, where somebody wants more than that.
  package static var forClientsAtMost: Int { max(8, limit - reserve) }
}
