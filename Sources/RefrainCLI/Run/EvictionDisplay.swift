// SPDX-License-Identifier: MIT
import Refrain
import Synchronization

/// How much was removed to make room, without a pause in between. A pure value.
struct EvictionProgress: Sendable {
  /// Nothing is shown of what takes no longer; a pause that is longer begins the count again.
  static let patience: Duration = .seconds(1)

  private var began: ContinuousClock.Instant?
  private var last: ContinuousClock.Instant?
  private var entries = 0
  private var bytes: Int64 = 0
  private var isShown = false

  /// Returns `Making room: removed 8,000 entries, 31.3 MiB` where that is due.
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

/// Shows on standard error how much is removed to make room, once that has taken a second.
final class EvictionDisplay: Sendable {
  private let throttle = Throttle()
  private let progress = Mutex(EvictionProgress())

  /// An entry was removed, or shortened, by so many bytes.
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
