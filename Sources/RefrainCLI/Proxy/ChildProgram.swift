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
