// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy
import RefrainServer

/// The access log of a proxy: a line for each request that has ended.
struct AccessLog: Sendable {
  enum Place: Sendable {
    case file(AccessLogFile)
    /// Standard output, whose reader may stall: the lines wait in memory.
    case output(WritingQueue<String>)
  }

  let place: Place
  /// Whether URLs are written as paths.
  let hasOrigin: Bool

  var isOnOutput: Bool {
    switch place {
    case .file: false
    case .output: true
    }
  }

  /// Writes the line of a request that has just ended. May be called on any thread.
  func note(_ request: ServedRequest) {
    let line = AccessLogLine(request: request, date: Date(), hasOrigin: hasOrigin).text()
    switch place {
    case .file(let file): file.write(line)
    case .output(let queue): queue.note(line)
    }
  }

  /// Waits until what was noted is written, for at most some seconds if standard output stalls.
  func end() async {
    switch place {
    case .file: break
    case .output(let queue): await queue.end()
    }
  }
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
    if isOnOutput {
      let queue = WritingQueue<String>(delay: .zero) { lines, leftOut in
        if leftOut > 0 { report("\(leftOut) lines of the access log were lost.") }
        if !lines.isEmpty { try Console.shared.printAlone(lines.joined(separator: "\n")) }
      }
      return AccessLog(place: .output(queue), hasOrigin: hasOrigin)
    }
    let file = try await IOThreads.background.run { try AccessLogFile(path: path, report: report) }
    // Without a descriptor for it the signal is ignored: it must not end the program.
    if !SignalPipe.receive([SIGHUP], { _ in file.reopen() }) { signal(SIGHUP, SIG_IGN) }
    return AccessLog(place: .file(file), hasOrigin: hasOrigin)
  }
}
