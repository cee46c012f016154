// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

#if canImport(Darwin)
  import Darwin
#endif

/// A program that this one started, with the same standard input, output and error, in the same
/// process group and terminal.
struct ChildProgram: Sendable {
  private let process: pid_t

  /// Starts it (posix_spawnp(3)), and hands signals on to it from then on.
  ///
  /// - Throws: `ExitCode` 127 where there is no such program and 126 where it cannot be run, as
  ///   shells and env(1) have it, once a line has told so.
  static func start(
    _ name: String, _ arguments: [String], environment: [String]
  ) throws -> ChildProgram {
    var attributes = emptyAttributes
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // What this program ignores, the other one need not.
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
    // A parent may have had children ignored: then there would be nothing to wait for.
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

  /// Waits for its end. Returns its exit code; 128 and the signal's number where one ended it.
  func end() async -> CInt {
    let status = await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: wait()) }
      thread.name = "refrain.child"
      thread.start()
    }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
  }

  private func wait() -> CInt {
    // First without taking it away (waitid(2)): its number stays its own until no signal can be
    // handed on to it any more.
    var information = siginfo_t()
    while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    SignalPassing.end()
    var status: CInt = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { return 1 << 8 }
    }
    return status
  }

  /// Ended by a null pointer, as C wants them.
  private static func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    texts.map { strdup($0) } + [nil]
  }

  private static func failure(_ name: String, _ number: CInt) -> ExitCode {
    let isMissing = number == ENOENT || number == ENOTDIR
    let what = isMissing ? "was not found." : "cannot be run: \(String(cString: strerror(number)))."
    let remedy =
      isMissing
      ? "Check its name, and that it is installed in a folder of $PATH."
      : "Check that it is a program, and that you may execute it."
    Console.shared.note("refrain: \(printable(name)) \(what) \(remedy)")
    return ExitCode(isMissing ? 127 : 126)
  }

  #if canImport(Darwin)
    private static var emptyAttributes: posix_spawnattr_t? { nil }
  #else
    private static var emptyAttributes: posix_spawnattr_t { posix_spawnattr_t() }
  #endif
}
