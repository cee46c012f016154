// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A program that runs for a test and is killed when the test ends, and also when the test's own
/// process ends in any way: it depends on a pipe that the system closes with its last writer. It
/// inherits no other descriptor.
///
/// Started with posix_spawn(3) and waited for with waitpid(2). `Process` recognizes the end of a
/// program by a socket among its descriptors: a shell that reuses that descriptor seems to have
/// ended, and `Process` then blocks the one thread on which it waits for all programs.
package final class LeashedProcess: Sendable {
  private let identifier: pid_t
  private let leash: FileHandle
  private let end = ProcessEnd()

  /// `$$` is the shell, which becomes the program with the same process ID. The reader of the pipe
  /// stays behind, and kills the program once a line comes or the pipe is closed.
  private static let script = #"""
    cd "$1" && shift && exec 3<&0 || exit 126
    (read -r _ <&3; kill -9 $$) >/dev/null 2>&1 & exec "$@" 3<&- </dev/null
    """#

  package struct Failure: Error {
    package var description: String
  }

  /// - Parameter output: the file for its stdout and stderr.
  package init(
    _ program: URL, _ arguments: [String], in directory: URL, output: URL,
    environment: [String: String] = [:]
  ) throws {
    let pipe = Pipe()
    for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
      _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(
      &actions, pipe.fileHandleForReading.fileDescriptor, STDIN_FILENO)
    posix_spawn_file_actions_addopen(
      &actions, STDOUT_FILENO, output.path(percentEncoded: false), O_WRONLY | O_CREAT | O_TRUNC,
      0o600)
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
    actions.closeFiles(from: 3)
    let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let words = Self.cStrings(
      ["sh", "-c", Self.script, "sh"] + [directory, program].map { $0.path(percentEncoded: false) }
        + arguments)
    let variables = Self.cStrings(all.map { "\($0)=\($1)" })
    defer { for pointer in words + variables { free(pointer) } }
    var identifier: pid_t = 0
    let number = posix_spawn(&identifier, "/bin/sh", &actions, nil, words, variables)
    try pipe.fileHandleForReading.close()
    guard number == 0 else { throw Failure(description: String(cString: strerror(number))) }
    self.identifier = identifier
    leash = pipe.fileHandleForWriting
    end.watch(identifier)
  }

  private static func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    texts.map { strdup($0) } + [nil]
  }

  deinit {
    cut()
  }

  package var isRunning: Bool { end.status == nil }

  /// Kills the program (SIGKILL), and waits until it has ended, unless the current task is
  /// cancelled.
  package func kill() async {
    cut()
    _ = await end.wait()
  }

  /// Waits until the program has ended, however that comes about.
  package func ended() async { _ = await end.wait() }

  /// Waits until the program ends by itself, and returns its exit status, or the number of the
  /// signal that ended it; nil if it did not end within the time and was killed. Cancelling the
  /// current task kills it too: it has ended when this returns.
  ///
  /// - Throws: `CancellationError`.
  package func exitStatus(within limit: Duration) async throws -> CInt? {
    let watch = Task {
      try await Task.sleep(for: limit)
      cut()
    }
    let status = await withTaskCancellationHandler {
      await end.wait()
    } onCancel: {
      cut()
    }
    watch.cancel()
    // The reader of the pipe still runs.
    cut()
    try Task.checkCancellation()
    if case .success = await watch.result { return nil }
    return status
  }

  private func cut() {
    // A line, because another child started at the same moment may hold the pipe too. Fails only if
    // the pipe was closed before.
    try? leash.write(contentsOf: Data("\n".utf8))
    try? leash.close()
  }
}

/// The end of a process, for any number of waiting tasks.
private final class ProcessEnd: Sendable {
  private struct State {
    var status: CInt?
    var waiters: [CheckedContinuation<CInt, Never>] = []
  }

  private let state = Mutex(State())

  /// The exit status, or the number of the signal; nil while the process runs.
  var status: CInt? { state.withLock(\.status) }

  /// Waits for the process on a thread of its own. Called once.
  func watch(_ process: pid_t) {
    Thread.detachNewThread { [self] in
      var raw: CInt = 0
      while waitpid(process, &raw, 0) < 0, errno == EINTR {}
      let status = raw & 0x7F == 0 ? (raw >> 8) & 0xFF : raw & 0x7F
      let waiters = state.withLock { state in
        state.status = status
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in waiters { waiter.resume(returning: status) }
    }
  }

  func wait() async -> CInt {
    await withCheckedContinuation { continuation in
      let status = state.withLock { state in
        if state.status == nil { state.waiters.append(continuation) }
        return state.status
      }
      if let status { continuation.resume(returning: status) }
    }
  }
}
