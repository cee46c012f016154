// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy
import RefrainServer

/// The access log of a proxy: a line for each request that has ended. The lines wait in memory for
/// whoever writes them: no request waits for a disk or a reader that stalls.
struct AccessLog: Sendable {
  private let queue: WritingQueue<String>
  /// Whether URLs are written as paths.
  private let hasOrigin: Bool
  let isOnOutput: Bool

  /// Creates a log in a file.
  ///
  /// - Parameter report: receives a sentence when lines are lost.
  init(_ file: AccessLogFile, hasOrigin: Bool, report: @escaping @Sendable (String) -> Void) {
    queue = WritingQueue(delay: .zero) { lines, leftOut in
      if leftOut > 0 { report("\(leftOut) lines of the access log were lost.") }
      for line in lines { file.write(line) }
    }
    (self.hasOrigin, isOnOutput) = (hasOrigin, false)
  }

  /// Creates a log on standard output.
  init(hasOrigin: Bool, report: @escaping @Sendable (String) -> Void) {
    queue = WritingQueue(delay: .zero) { lines, leftOut in
      if leftOut > 0 { report("\(leftOut) lines of the access log were lost.") }
      if !lines.isEmpty { try Console.shared.printAlone(lines.joined(separator: "\n")) }
    }
    (self.hasOrigin, isOnOutput) = (hasOrigin, true)
  }

  /// Writes the line of a request that has just ended. May be called on any thread.
  func note(_ request: ServedRequest) {
    queue.note(AccessLogLine(request: request, date: Date(), hasOrigin: hasOrigin).text())
  }

  /// Waits until what was noted is written, for at most some seconds if that stalls.
  func end() async { await queue.end() }
}

/// The access log of a proxy.
struct AccessLogOptions: ParsableArguments {
  @Option(
    name: .customLong("access-log"),
    help: ArgumentHelp(
      """
      Append a line for each request to this file, in the combined format of Apache and nginx. '-' \
      is standard output, in place of its own lines. SIGHUP opens the file again, after it was \
      renamed. If the disk is full, lines are lost and counted.
      """, valueName: "file"),
    completion: .file())
  var path: String?

  var isOnOutput: Bool { path == "-" }

  /// Opens the log; nil if there is to be none. SIGHUP has no other effect than opening its file
  /// again from then on.
  func begin(hasOrigin: Bool, _ level: LogLevel) async throws -> AccessLog? {
    guard let path else { return nil }
    let report: @Sendable (String) -> Void = { text in
      guard level >= .warning else { return }
      Console.shared.noteLater("refrain: \(printable(text))")
    }
    if isOnOutput { return AccessLog(hasOrigin: hasOrigin, report: report) }
    let file = try await IOThreads.background.run { try AccessLogFile(path: path, report: report) }
    // Without a descriptor for it the signal is ignored: it must not end the program.
    if !SignalPipe.receive([SIGHUP], { _ in file.reopen() }) { signal(SIGHUP, SIG_IGN) }
    return AccessLog(file, hasOrigin: hasOrigin, report: report)
  }
}
