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
    if let line { console.show(line, throttle) }
  }
}

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
    if let line { console.show(line, throttle) }
  }
}

/// Numbers of entries, as people read them.
enum CountText {
  /// `20,000`
  static func number(_ count: Int) -> String {
    let digits = Array(String(count.magnitude))
    var text = count < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
      text.append(digit)
    }
    return text
  }

  /// `1 entry`, `20,000 entries`
  static func entries(_ count: Int) -> String {
    "\(number(count)) \(count == 1 ? "entry" : "entries")"
  }
}

/// The progress of work on many entries: when a line is due, and its text. A pure value.
struct CountProgress: Sendable {
  /// The verb for the work, in the past tense: `Removed`.
  var verb: String
  /// The time before the first line; shorter work shows none.
  var patience: Duration = .seconds(1)
  private var plain = PlainProgress()
  private var last = 0

  init(verb: String) { self.verb = verb }

  /// Returns `Removed 8,000 of 20,000 entries` if a line is due.
  ///
  /// - Parameter isInteractive: whether the line is redrawn in place; otherwise it is due at every
  ///   further tenth.
  mutating func line(
    done: Int, total: Int, after elapsed: Duration, isInteractive: Bool
  ) -> String? {
    // Reports of several threads may overtake each other.
    guard elapsed >= patience, done > last, done < total else { return nil }
    last = done
    guard isInteractive || plain.isDue(percent: done * 100 / total) else { return nil }
    return "\(verb) \(CountText.number(done)) of \(CountText.entries(total))"
  }
}

extension Console {
  /// Shows a line at the foot of a terminal, if one is due; elsewhere as a line of its own.
  fileprivate func show(_ line: String, _ throttle: Throttle) {
    guard isInteractive else { return note("refrain: \(line)") }
    if throttle.isDue() { show(String(line.prefix(max(0, width - 1)))) }
  }
}
