// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainStreams

/// Shows the progress of a resource or a stream on standard error: on a terminal a bar redrawn at
/// most ten times a second, elsewhere a line at every further tenth.
///
/// Progress may be recorded on any thread, at any rate.
final class ProgressDisplay: Sendable {
  private struct State {
    var speed = Speed()
    /// The speed of playing time, in milliseconds.
    var playing = Speed()
    var plain = PlainProgress()
  }

  private let name: String
  private let started = ContinuousClock.now
  private let throttle = Throttle()
  private let state = Mutex(State())

  init(name: String) { self.name = name }

  /// Records progress in bytes.
  ///
  /// - Parameter isShown: whether the line on a terminal belongs to this work now.
  func note(done: Int64, total: Int64?, isShown: Bool) {
    show(isShown) { state, time in
      state.speed.note(bytes: done, at: time)
      var line = ProgressLine(name: name, done: done, total: total)
      line.timeLeft = total.flatMap { state.speed.timeLeft(for: $0 - done) }
      return line
    }
  }

  /// Records the progress of a stream.
  ///
  /// - Parameters:
  ///   - duration: the stream's, in seconds.
  ///   - isShown: whether the line on a terminal belongs to this stream now.
  func note(_ progress: StreamDownload.Progress, of duration: Double, isShown: Bool) {
    show(isShown) { state, time in
      let done = Int64(progress.storedSeconds * 1000)
      state.speed.note(bytes: progress.storedBytes, at: time)
      state.playing.note(bytes: done, at: time)
      var line = ProgressLine(name: name, duration: duration, progress)
      line.timeLeft = state.playing.timeLeft(for: Int64(progress.totalSeconds * 1000) - done)
      return line
    }
  }

  private func show(_ isShown: Bool, _ line: (inout State, Duration) -> ProgressLine) {
    let (time, console) = (ContinuousClock.now - started, Console.shared)
    let due: ProgressLine? = state.withLock { state in
      var line = line(&state, time)
      line.bytesPerSecond = state.speed.bytesPerSecond
      guard console.isInteractive else {
        return state.plain.isDue(percent: line.percent) ? line : nil
      }
      return isShown && throttle.isDue() ? line : nil
    }
    if let due { console.show(due) }
  }
}

/// Decides when a line is due without a bar: at every further tenth, once each.
struct PlainProgress: Sendable {
  private var lastTenth = -1

  mutating func isDue(percent: Int?) -> Bool {
    guard let percent else { return false }
    let tenth = percent / 10
    guard tenth > lastTenth else { return false }
    lastTenth = tenth
    return true
  }
}

/// Permits an action at most ten times a second.
final class Throttle: Sendable {
  private let last = Mutex<ContinuousClock.Instant?>(nil)

  func isDue(at now: ContinuousClock.Instant = .now) -> Bool {
    last.withLock { last in
      if let last, now - last < .milliseconds(100) { return false }
      last = now
      return true
    }
  }
}

extension Console {
  /// Shows a line of progress: at the foot of a terminal, or as a line of its own.
  fileprivate func show(_ line: ProgressLine) {
    guard isInteractive else { return note(line.plain) }
    show(coloured(line.bar(width: width - 1, style: barStyle)))
  }

  /// Returns the line with its bar in green, if colours are enabled.
  private func coloured(_ line: String) -> String {
    guard isColoured, let first = line.firstIndex(of: "█"), let last = line.lastIndex(of: "█")
    else { return line }
    return
      "\(line[..<first])\u{1B}[32m\(line[first...last])\u{1B}[0m\(line[line.index(after: last)...])"
  }
}
