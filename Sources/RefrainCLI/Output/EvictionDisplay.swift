// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// The entries and bytes removed to make room since the last pause. A pure value.
struct EvictionProgress: Sendable {
  /// The time before the first line; a pause that is longer restarts the count.
  static let patience: Duration = .seconds(1)

  private var began: ContinuousClock.Instant?
  private var last: ContinuousClock.Instant?
  private var entries = 0
  private var bytes: Int64 = 0
  private var isShown = false

  /// Returns `Making room: removed 8,000 entries, 31.3 MiB` if a line is due.
  ///
  /// - Parameter isInteractive: whether the line is redrawn in place; otherwise it is due once.
  mutating func line(
    freed: Int64, at now: ContinuousClock.Instant, isInteractive: Bool
  ) -> String? {
    if last.map({ now - $0 > Self.patience }) ?? true {
      (began, entries, bytes, isShown) = (now, 0, 0, false)
    }
    last = now
    entries += 1
    bytes += freed
    guard let began, now - began >= Self.patience, isInteractive || !isShown else { return nil }
    isShown = true
    return "Making room: removed \(CountText.entries(entries)), \(ByteSize.text(bytes))"
  }
}

/// Shows removals that make room on standard error, once they have taken a second.
final class EvictionDisplay: Sendable {
  private let throttle = Throttle()
  private let progress = Mutex(EvictionProgress())

  /// Records that an entry was removed or shortened by this many bytes.
  func note(freed: Int64) {
    let console = Console.shared
    let line = progress.withLock {
      $0.line(freed: freed, at: .now, isInteractive: console.isInteractive)
    }
    guard let line else { return }
    if !console.isInteractive {
      console.note("refrain: \(line)")
    } else if throttle.isDue() {
      console.show(String(line.prefix(max(0, console.width - 1))))
    }
  }
}
