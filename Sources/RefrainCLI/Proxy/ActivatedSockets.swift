// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainProxy

#if canImport(Darwin)
  import Darwin
#endif

/// The listening sockets that a service manager has opened for this program, by the protocol of
/// sd_listen_fds(3).
struct ActivatedSockets: Sendable, Hashable {
  var proxy: ListeningSocket?
  /// The one named `admin` (FileDescriptorName= in its unit).
  var admin: ListeningSocket?

  static let adminName = "admin"

  /// Those of this process. Child processes receive neither the sockets nor the variables.
  static func ofProcess() throws -> ActivatedSockets { try taken.get() }

  private static let taken = Result {
    let given = try Descriptor.all(in: ProcessInfo.processInfo.environment, process: getpid())
    for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID"] { unsetenv(name) }
    for descriptor in given { _ = fcntl(descriptor.number, F_SETFD, FD_CLOEXEC) }
    return try ActivatedSockets(given)
  }

  /// - Throws: `InvalidArgument` if there are more than the program can use; `CacheProxyError` if
  ///   one is not a TCP socket that listens.
  init(_ given: [Descriptor]) throws {
    for descriptor in given {
      let socket = try ListeningSocket(descriptor: descriptor.number)
      let isAdmin = descriptor.name == Self.adminName
      guard (isAdmin ? admin : proxy) == nil else {
        throw InvalidArgument(
          """
          the service manager passes two listening sockets for \
          \(isAdmin ? "the operator" : "clients"). Use one ListenStream=; a socket unit for \
          --admin has FileDescriptorName=\(Self.adminName)
          """)
      }
      if isAdmin { admin = socket } else { proxy = socket }
    }
  }

  /// A descriptor as the service manager names it.
  struct Descriptor: Sendable, Hashable {
    var number: CInt
    var name: String

    /// The first one; the others follow (SD_LISTEN_FDS_START).
    private static let first: CInt = 3
    /// Far more than any unit passes: a wrong number must not close or name other descriptors.
    private static let most = 64

    /// Returns the descriptors that the variables pass to a process; none if they are another
    /// process's, as those that a parent has inherited.
    ///
    /// - Throws: `InvalidArgument` if the variables contradict themselves.
    static func all(
      in environment: [String: String], process: pid_t
    ) throws -> [Descriptor] {
      guard let owner = environment["LISTEN_PID"], pid_t(owner) == process,
        let text = environment["LISTEN_FDS"]
      else { return [] }
      guard let count = Int(text), (0...most).contains(count) else {
        throw InvalidArgument(
          "LISTEN_FDS is '\(printable(String(text.prefix(20))))', not a number of sockets. "
            + "Unset it, or start the program from a socket unit")
      }
      let names = environment["LISTEN_FDNAMES"].map {
        $0.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
      }
      guard count > 0 else { return [] }
      guard names == nil || names?.count == count else {
        throw InvalidArgument(
          "LISTEN_FDNAMES does not name \(count) sockets, as LISTEN_FDS says. "
            + "Unset both, or start the program from a socket unit")
      }
      return (0..<count).map {
        Descriptor(number: first + CInt($0), name: names?[$0] ?? "")
      }
    }
  }
}
