// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

#if canImport(Darwin)
  import Darwin
#endif

/// A program started by this one, with the same standard input, output and error, process group and
/// terminal.
struct ChildProgram: Sendable {
  private let process: pid_t

  /// Starts a program (posix_spawnp(3)), and forwards signals to it from then on.
  ///
  /// - Throws: `ExitCode` 127 if the program does not exist and 126 if it cannot be run, as in
  ///   shells and env(1), after reporting it in a line.
  static func start(
    _ name: String, _ arguments: [String], environment: [String]
  ) throws -> ChildProgram {
    var attributes = emptyAttributes
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Signals that this program ignores have their default action in the child.
    var defaults = sigset_t()
    sigemptyset(&defaults)
    for number in [SIGPIPE, SIGXFSZ, SIGCHLD] { sigaddset(&defaults, number) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
    posix_spawnattr_setflags(&attributes, numericCast(flags))

    let words = Self.cStrings([name] + arguments)
    let variables = Self.cStrings(environment)
    defer { for pointer in words + variables { free(pointer) } }
    // The parent may have set SIGCHLD to be ignored: then there would be no child to wait for.
    signal(SIGCHLD, SIG_DFL)
    SignalPassing.begin()
    var process: pid_t = 0
    let number = posix_spawnp(&process, name, nil, &attributes, words, variables)
    guard number == 0 else {
      SignalPassing.end()
      throw failure(name, number)
    }
    SignalPassing.pass(to: process)
    return ChildProgram(process: process)
  }

  /// Waits for the program's end. Returns its exit code; 128 plus the signal's number if one ended
  /// it.
  func end() async -> CInt {
    let status = await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: wait()) }
      thread.name = "refrain.child"
      thread.start()
    }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
  }

  private func wait() -> CInt {
    // First without reaping (waitid(2)): the process ID stays reserved until no signal can be
    // forwarded to it.
    var information = siginfo_t()
    while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    SignalPassing.end()
    var status: CInt = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { return 1 << 8 }
    }
    return status
  }

  /// Returns C strings, terminated by a null pointer.
  private static func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    texts.map { strdup($0) } + [nil]
  }

  private static func failure(_ name: String, _ number: CInt) -> ExitCode {
    let isMissing = number == ENOENT || number == ENOTDIR
    let what = isMissing ? "was not found." : "cannot be run: \(String(cString: strerror(number)))."
    let remedy =
      isMissing
      ? "Check its name, and that it is installed in a folder of $PATH."
      : "Check that it is a program, and that you have permission to execute it."
    Console.shared.note("refrain: \(printable(name)) \(what) \(remedy)")
    return ExitCode(isMissing ? 127 : 126)
  }

  #if canImport(Darwin)
    private static var emptyAttributes: posix_spawnattr_t? { nil }
  #else
    private static var emptyAttributes: posix_spawnattr_t { posix_spawnattr_t() }
  #endif
}

/// The files that this program was started with. Files that it opens itself, above all a listening
/// socket, must not reach the programs that it starts.
///
/// Not every library opens its files with O_CLOEXEC: SwiftNIO's sockets lack it on Linux.
struct InheritedFiles: Sendable {
  private let descriptors: Set<CInt>

  /// Must be called before anything is opened.
  init() { descriptors = Self.open }

  /// Closes all other files in programs that are started from now on (fcntl(2), FD_CLOEXEC).
  func closeOthersOnExec() {
    for descriptor in Self.open.subtracting(descriptors) where descriptor > STDERR_FILENO {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }
  }

  /// The descriptors that are open now.
  private static var open: Set<CInt> {
    guard let directory = opendir("/dev/fd") else { return [] }
    defer { closedir(directory) }
    var found: Set<CInt> = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(
          to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)
        ) { String(cString: $0) }
      }
      if let number = CInt(name), number != dirfd(directory) { found.insert(number) }
    }
    return found
  }
}

/// The environment of a program that uses a proxy on this computer. A pure value.
enum ChildEnvironment {
  private static let host = "127.0.0.1"

  /// Returns the variables as `NAME=value`. If they name a network proxy (`http_proxy`), this
  /// computer is excepted: otherwise requests to it would go through that proxy too.
  static func reaching(_ environment: [String: String]) -> [String] {
    var environment = environment
    if ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].contains(where: {
      environment[$0]?.isEmpty == false
    }) {
      // Some programs read one spelling, some the other.
      let known = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
      for name in ["no_proxy", "NO_PROXY"] {
        let value = environment[name] ?? known
        environment[name] = value.isEmpty ? host : value == "*" ? value : "\(value),\(host)"
      }
    }
    return environment.map { "\($0)=\($1)" }
  }
}
