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
/// process ends in whatever way: it hangs on a pipe that the system closes with its last writer.
package final class LeashedProcess: Sendable {
  private let process: Process
  private let leash: FileHandle
  private let exits: AsyncStream<Void>

  /// `$$` is the shell, which becomes the program: it keeps the number. The reader of the pipe stays
  /// behind, and kills it once a line comes or the pipe is closed.
  private static let script =
    #"exec 3<&0; (read -r _ <&3; kill -9 $$) >/dev/null 2>&1 & exec "$@" 3<&- </dev/null"#

  /// - Parameter output: what it writes to stdout and stderr goes to that file.
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

  /// Kills it (SIGKILL), and waits until it is gone, unless the current task is cancelled.
  package func kill() async {
    cut()
    for await _ in exits {}
  }

  /// Waits until it ends by itself, and returns its exit status (a signal's number where it was one);
  /// nil where it did not within the time, and was killed. Where the current task is cancelled, it is
  /// killed too: it is gone when this returns.
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
    // The reader of the pipe is still there, and Foundation takes nothing for ended before its
    // descendants are. A task of its own, which waits on when this one is cancelled.
    cut()
    await Task { for await _ in exits {} }.value
    try Task.checkCancellation()
    if case .success = await watch.result { return nil }
    return process.terminationStatus
  }

  /// Waits for the program itself; leaves it to Foundation to ask how it ended.
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
    // A line, for another child that was started at the same moment may hold the pipe too. Fails
    // only where it was cut before.
    try? leash.write(contentsOf: Data("\n".utf8))
    try? leash.close()
  }
}
