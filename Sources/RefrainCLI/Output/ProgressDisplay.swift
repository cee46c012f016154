// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Shows the progress of a resource on standard error: on a terminal a bar redrawn at most ten
/// times a second, elsewhere a line at every further tenth.
final class ProgressDisplay: Sendable {
  private struct State {
    var speed = Speed()
    var plain = PlainProgress()
  }

  private let name: String
  private let started = ContinuousClock.now
  private let throttle = Throttle()
  private let state = Mutex(State())

  init(name: String) { self.name = name }

  /// Records progress. May be called on any thread, at any rate.
  ///
  /// - Parameter isShown: whether the line on a terminal belongs to this work now.
  func note(done: Int64, total: Int64?, isShown: Bool = true) {
    let time = ContinuousClock.now - started
    let console = Console.shared
    let line: ProgressLine? = state.withLock { state in
      state.speed.note(bytes: done, at: time)
      let line = ProgressLine(
        name: name, done: done, total: total, bytesPerSecond: state.speed.bytesPerSecond,
        timeLeft: total.flatMap { state.speed.timeLeft(for: $0 - done) })
      guard console.isInteractive else {
        return state.plain.isDue(percent: line.percent) ? line : nil
      }
      return isShown && throttle.isDue() ? line : nil
    }
    if let line { console.show(line) }
  }
}

/// A line of progress.
protocol BarLine {
  /// The line with a bar, for a terminal of a width in columns.
  func bar(width: Int, style: BarStyle) -> String
  /// The line without a bar.
  var plain: String { get }
}

extension Console {
  /// Shows a line of progress: at the foot of a terminal, or as a line of its own.
  func show(_ line: some BarLine) {
    guard isInteractive else { return note(line.plain) }
    show(coloured(line.bar(width: width - 1, style: barStyle)))
  }

  /// Returns the line with its bar in green, if colours are enabled.
  func coloured(_ line: String) -> String {
    guard isColoured, let first = line.firstIndex(of: "█"), let last = line.lastIndex(of: "█")
    else { return line }
    return
      "\(line[..<first])\u{1B}[32m\(line[first...last])\u{1B}[0m\(line[line.index(after: last)...])"
  }
}
