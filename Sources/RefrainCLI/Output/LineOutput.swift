// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The lines of `play` on standard output, written by a thread of its own: a reader that has
/// stopped reading stops neither playing nor the program. Up to 10,000 lines wait for it; the last
/// half of them are lines that no later one makes superfluous. Lines beyond are dropped, and their number is
/// written when the reader goes on.
final class LineOutput: Sendable {
  private let failure: Failure
  private let lines: WritingQueue<String>

  /// Why nothing can be written any more.
  private final class Failure: Sendable {
    let error = Mutex<(any Error)?>(nil)
  }

  /// - Parameters:
  ///   - isJSON: whether the lines are for programs.
  ///   - bound: the number of lines that may wait.
  ///   - print: writes lines. May block.
  init(
    isJSON: Bool, bound: Int = 10_000,
    print: @escaping @Sendable ([String]) throws -> Void = LineOutput.print
  ) {
    let failure = Failure()
    self.failure = failure
    lines = WritingQueue(bound: bound, delay: .zero) { lines, dropped in
      do {
        try print(lines + (dropped > 0 ? [Self.line(dropped: dropped, isJSON)] : []))
      } catch {
        failure.error.withLock { $0 = error }
        throw error
      }
    }
  }

  /// Writes a line soon. Returns at once; may be called on any thread.
  ///
  /// - Parameter isRepeated: whether a later line makes this one superfluous.
  /// - Throws: the error of an earlier line, after which nothing is written.
  func write(_ line: String, isRepeated: Bool = false) throws {
    try check()
    lines.note(line, isMinor: isRepeated)
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

  private static func line(dropped count: Int, _ isJSON: Bool) -> String {
    isJSON ? #"{"count":\#(count),"event":"dropped"}"# : "… \(count) lines are not listed …"
  }

  /// Writes lines in groups that a pipe takes whole or not at all (PIPE_BUF, pipe(7)): a program
  /// that ends while nobody reads has written no part of a line.
  private static let print: @Sendable ([String]) throws -> Void = { lines in
    var (group, count) = ([String](), 0)
    for line in lines {
      let length = line.utf8.count + 1
      if count + length > Int(PIPE_BUF) {
        try Console.shared.print(lines: group)
        (group, count) = ([], 0)
      }
      group.append(line)
      count += length
    }
    try Console.shared.print(lines: group)
  }
}
