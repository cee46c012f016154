// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A program that runs for a test and is killed when the test ends, and also when the test's own
/// process ends in any way: it depends on a pipe that the system closes with its last writer.
package final class LeashedProcess: Sendable {
  private let process: Process
  private let leash: FileHandle
  private let exits: AsyncStream<Void>

  /// `$$` is the shell, which becomes the program with the same process ID. The reader of the pipe
  /// stays behind, and kills the program once a line comes or the pipe is closed.
  private static let script =
    #"exec 3<&0; (read -r _ <&3; kill -9 $$) >/dev/null 2>&1 & exec "$@" 3<&- </dev/null"#

  /// - Parameter output: the file for its stdout and stderr.
  package init(
    _ program: URL, _ arguments: [String], in directory: URL, output: URL,
    environment: [String: String] = [:]
  ) throws {
    try Data().write(to: output)
    let file = try FileHandle(forWritingTo: output)
    let pipe = Pipe()
    process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments =
      ["-c", Self.script, "sh", program.path(percentEncoded: false)] + arguments
    process.currentDirectoryURL = directory
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = pipe
    process.standardOutput = file
    process.standardError = file
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    exits = stream
    process.terminationHandler = { _ in continuation.finish() }
    leash = pipe.fileHandleForWriting
    try process.run()
    try file.close()
    try pipe.fileHandleForReading.close()
  }

  deinit {
    cut()
  }

  package var isRunning: Bool { process.isRunning }

  /// Kills the program (SIGKILL), and waits until it has ended, unless the current task is
  /// cancelled.
  package func kill() async {
    cut()
    for await _ in exits {}
  }

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
    await withTaskCancellationHandler {
      await end()
    } onCancel: {
      cut()
    }
    watch.cancel()
    // The reader of the pipe still runs, and Foundation reports a process as ended only after its
    // descendants. A separate task, which keeps waiting when this one is cancelled.
    cut()
    await Task { for await _ in exits {} }.value
    try Task.checkCancellation()
    if case .success = await watch.result { return nil }
    return process.terminationStatus
  }

  /// Waits for the program itself; Foundation collects its exit status.
  private func end() async {
    let identifier = id_t(process.processIdentifier)
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var information = siginfo_t()
        while waitid(P_PID, identifier, &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        continuation.resume()
      }
    }
  }

  private func cut() {
    // A line, because another child started at the same moment may hold the pipe too. Fails only if
    // the pipe was closed before.
    try? leash.write(contentsOf: Data("\n".utf8))
    try? leash.close()
  }
}
