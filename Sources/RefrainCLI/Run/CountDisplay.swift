// SPDX-License-Identifier: MIT
import Refrain
import Synchronization

/// Shows on standard error how far work on many entries is, once it has taken a second: a line that
/// is redrawn at most ten times a second on a terminal, and one at every further tenth elsewhere.
final class CountDisplay: Sendable {
  private let started = ContinuousClock.now
  private let throttle = Throttle()
  private let progress: Mutex<CountProgress>

  /// - Parameter verb: what was done with the entries: `Removed`.
  init(verb: String) { progress = Mutex(CountProgress(verb: verb)) }

  /// Called on any thread, for each entry.
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
