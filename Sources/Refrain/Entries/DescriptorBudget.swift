// SPDX-License-Identifier: MIT
import Foundation

/// Divides the files and sockets that this process may have open (sysconf(3)).
///
/// When none is left, the system's own libraries may end the process: libdispatch on Linux does, as
/// soon as it cannot open a file in /proc to count its threads. So some stay free, and the rest is
/// shared by the clients of a proxy, with two descriptors each, and open entries, with three each.
/// A client has its socket, and a file that is being sent although its entry was closed, or a
/// further connection to an origin: several clients may read one entry in several places. An entry
/// has a data file, a journal, and a connection to the origin.
package enum DescriptorBudget {
  /// For event loops, threads that open a file briefly, clients that are refused, and the rest of
  /// the process; and for the connections to origins that stay open without a request
  /// (`CurlThread`), which belong to no open entry.
  private static let reserve = 64 + 32

  package static var limit: Int {
    let limit = sysconf(Int32(_SC_OPEN_MAX))
    // Negative for no limit.
    return limit < 0 ? .max : limit
  }

  /// Of seven parts, entries take three, and twice as many clients four.
  private static var seventh: Int { max(0, limit - reserve) / 7 }

  /// The number of connections of a proxy's operator: of watchers and their pages. Part of the
  /// reserve, where there are few.
  package static var forOperator: Int { min(64, max(16, limit / 32)) }

  /// The number of entries that may be open.
  package static var forEntries: Int { max(4, seventh) }

  /// The default number of clients that a proxy serves at a time.
  package static var forClients: Int { min(max(8, 2 * seventh), 100_000) }

  /// The largest number of clients that can be configured.
  package static var forClientsAtMost: Int { max(8, limit - reserve) }
}
