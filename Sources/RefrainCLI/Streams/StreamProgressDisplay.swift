// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// The progress of a stream's download by time and bytes, and its text. A pure value.
struct StreamProgressLine: Sendable, BarLine {
  var name: String
  /// 0…1, by playing time.
  var fraction: Double
  var isComplete: Bool
  /// In seconds.
  var duration: Double
  var storedBytes: Int64
  var bytesPerSecond: Double?
  var timeLeft: Duration?

  init(name: String, duration: Double, _ progress: StreamDownload.Progress) {
    (self.name, self.duration) = (name, duration)
    isComplete = progress.isComplete
    storedBytes = progress.storedBytes
    let part = progress.totalSeconds > 0 ? progress.storedSeconds / progress.totalSeconds : 0
    fraction = isComplete ? 1 : min(max(part, 0), 1)
  }

  /// 0…100, rounded down: 100 only when all is done.
  var percent: Int { isComplete ? 100 : min(99, Int(fraction * 100)) }

  /// Returns `film.m3u8  ██████░░░░  61%  12:12 of 20:00  143.2 MiB  4.1 MiB/s  0:30 left`, in at
  /// most `width` characters: the bar is dropped first, then the last facts.
  func bar(width: Int, style: BarStyle) -> String {
    let padding = String(repeating: " ", count: percent < 10 ? 2 : percent < 100 ? 1 : 0)
    var facts = ["\(padding)\(percent)%"]
    facts += [time, ByteSize.text(storedBytes)]
    if let bytesPerSecond { facts.append("\(ByteSize.text(Int64(bytesPerSecond)))/s") }
    if let timeLeft { facts.append("\(TimeText.position(timeLeft)) left") }
    while facts.count > 1, joined(facts).count > width { facts.removeLast() }
    let tail = joined(facts)
    let nameWidth = min(name.count, max(0, width - tail.count - 2), 32)
    let head = nameWidth >= 6 || nameWidth == name.count ? shortened(name, to: nameWidth) : ""
    var parts = head.isEmpty ? [] : [head]
    let barWidth = min(32, width - tail.count - head.count - 4)
    if barWidth >= 8 { parts.append(style.bar(fraction: fraction, width: barWidth)) }
    parts.append(tail)
    return String(joined(parts).prefix(max(0, width)))
  }

  /// `film.m3u8: 60% of 20:00, 143.2 MiB`, for logs.
  var plain: String {
    "\(name): \(percent)% of \(position(duration)), \(ByteSize.text(storedBytes))"
  }

  private var time: String {
    isComplete ? position(duration) : "\(position(duration * fraction)) of \(position(duration))"
  }

  private func position(_ seconds: Double) -> String { TimeText.position(.seconds(seconds)) }

  private func joined(_ parts: [String]) -> String { parts.joined(separator: "  ") }
}

/// Shows the progress of a stream on standard error, as `ProgressDisplay` does that of a resource.
final class StreamProgressDisplay: Sendable {
  private struct State {
    var bytes = Speed()
    /// The speed of playing time, in milliseconds.
    var time = Speed()
    var plain = PlainProgress()
  }

  private let name: String
  private let duration: Double
  private let started = ContinuousClock.now
  private let throttle = Throttle()
  private let state = Mutex(State())

  init(name: String, duration: Double) {
    self.name = name
    self.duration = duration
  }

  /// Records progress. May be called on any thread, at any rate.
  ///
  /// - Parameter isShown: whether the line on a terminal belongs to this stream now.
  func note(_ progress: StreamDownload.Progress, isShown: Bool) {
    let time = ContinuousClock.now - started
    let console = Console.shared
    let line: StreamProgressLine? = state.withLock { state in
      let done = Int64(progress.storedSeconds * 1000)
      state.bytes.note(bytes: progress.storedBytes, at: time)
      state.time.note(bytes: done, at: time)
      var line = StreamProgressLine(name: name, duration: duration, progress)
      line.bytesPerSecond = state.bytes.bytesPerSecond
      line.timeLeft = state.time.timeLeft(for: Int64(progress.totalSeconds * 1000) - done)
      guard console.isInteractive else {
        return state.plain.isDue(percent: line.percent) ? line : nil
      }
      return isShown && throttle.isDue() ? line : nil
    }
    if let line { console.show(line) }
  }
}
