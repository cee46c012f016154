// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// Shows the progress of work on many entries on standard error, once it has taken a second: on a
/// terminal a line redrawn at most ten times a second, elsewhere a line at every further tenth.
final class CountDisplay: Sendable {
  private let started = ContinuousClock.now
  private let throttle = Throttle()
  private let progress: Mutex<CountProgress>

  /// - Parameter verb: the work in the past tense: `Removed`.
  init(verb: String) { progress = Mutex(CountProgress(verb: verb)) }

  /// Records the progress after an entry. Called on any thread.
  func note(_ count: MediaCache.EntryProgress) {
    let (elapsed, console) = (ContinuousClock.now - started, Console.shared)
    let line = progress.withLock {
      $0.line(
        done: count.done, total: count.total, after: elapsed, isInteractive: console.isInteractive)
    }
    guard let line else { return }
    if !console.isInteractive {
      console.note("refrain: \(line)")
    } else if throttle.isDue() {
      console.show(String(line.prefix(max(0, console.width - 1))))
    }
  }
}
