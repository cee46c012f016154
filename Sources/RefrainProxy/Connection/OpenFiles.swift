// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// How many files and sockets this process may have open (getrlimit(2)).
enum OpenFiles {
  static var limit: Int {
    var limit = rlimit()
    #if canImport(Glibc)
      guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 256 }
    #else
      guard getrlimit(RLIMIT_NOFILE, &limit) == 0 else { return 256 }
    #endif
    return Int(clamping: limit.rlim_cur)
  }

  /// What connections of clients may take: each may need as much again, for the entry's files and a
  /// connection to the origin.
  static var forClients: Int { min(max(8, (limit - 48) / 2), 100_000) }

  /// Were there more, none would be left for those that are served.
  static var forClientsAtMost: Int { max(8, limit - 48) }
}
