// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Lines for programs on standard output, written by a thread of its own: a reader that has stopped
/// reading stops neither playing nor the program. Up to 10,000 lines wait for it; those beyond are
/// dropped, and their number is written in their place.
final class EventOutput: Sendable {
  private let failure: Failure
  private let lines: WritingQueue<String>

  /// Why nothing can be written any more.
  private final class Failure: Sendable {
    let error = Mutex<(any Error)?>(nil)
  }

  /// - Parameters:
  ///   - bound: the number of lines that may wait.
  ///   - print: writes lines. May block.
  init(
    bound: Int = 10_000,
    print: @escaping @Sendable ([String]) throws -> Void = {
      try Console.shared.printAlone($0.joined(separator: "\n"))
    }
  ) {
    let failure = Failure()
    self.failure = failure
    lines = WritingQueue(bound: bound, delay: .zero) { lines, dropped in
      do {
        try print(lines + (dropped > 0 ? [Self.line(dropped: dropped)] : []))
      } catch {
        failure.error.withLock { $0 = error }
        throw error
      }
    }
  }

  /// Writes a line soon. Returns at once; may be called on any thread.
  ///
  /// - Throws: the error of an earlier line, after which nothing is written.
  func write(_ line: String) throws {
    try check()
    lines.note(line)
  }

  /// Waits until all lines are written; once the task is cancelled, for at most some seconds.
  ///
  /// - Throws: the error of any line.
  func end() async throws {
    await lines.end(onlyOnceCancelled: true)
    try check()
  }

  private func check() throws {
    if let error = failure.error.withLock(\.self) { throw error }
  }

  private static func line(dropped count: Int) -> String {
    #"{"count":\#(count),"event":"dropped"}"#
  }
}
