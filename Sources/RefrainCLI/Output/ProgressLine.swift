// SPDX-License-Identifier: MIT
import Refrain
import RefrainStreams

/// The progress of a long piece of work, and its text. A pure value.
struct ProgressLine: Sendable {
  var name: String
  /// 0…100, rounded down: 100 only when all is done. Nil while the total is unknown.
  var percent: Int?
  var bytesPerSecond: Double?
  var timeLeft: Duration?
  /// `song.flac: 60% of 23.6 MiB`, for logs.
  let plain: String
  /// 0…1.
  private let fraction: Double
  /// What is done, as in `14.4 MiB of 23.6 MiB`.
  private let amounts: [String]

  /// Progress in bytes; the total is nil while it is unknown.
  init(name: String, done: Int64, total: Int64?) {
    self.name = name
    guard let total else {
      (fraction, amounts) = (1, [ByteSize.text(done)])
      plain = "\(name): \(ByteSize.text(done))"
      return
    }
    let isComplete = total <= 0 || done >= total
    fraction = isComplete ? 1 : Double(max(0, done)) / Double(total)
    let percent = Int(fraction * 100)
    self.percent = percent
    let size = ByteSize.text(total)
    amounts = [isComplete ? size : "\(ByteSize.text(done)) of \(size)"]
    plain = "\(name): \(percent)% of \(size)"
  }

  /// The progress of a stream, by playing time.
  ///
  /// - Parameter duration: the stream's, in seconds.
  init(name: String, duration: Double, _ progress: StreamDownload.Progress) {
    self.name = name
    let part = progress.totalSeconds > 0 ? progress.storedSeconds / progress.totalSeconds : 0
    fraction = progress.isComplete ? 1 : min(max(part, 0), 1)
    let percent = progress.isComplete ? 100 : min(99, Int(fraction * 100))
    self.percent = percent
    let (all, size) = (Self.position(duration), ByteSize.text(progress.storedBytes))
    let time = progress.isComplete ? all : "\(Self.position(duration * fraction)) of \(all)"
    amounts = [time, size]
    plain = "\(name): \(percent)% of \(all), \(size)"
  }

  private static func position(_ seconds: Double) -> String { TimeText.position(.seconds(seconds)) }

  /// Returns `song.flac  ██████░░░░  61%  14.4 MiB of 23.6 MiB  4.1 MiB/s  0:03 left`, in at most
  /// `width` characters: the name is dropped first, then the bar, then the last facts.
  func bar(width: Int, style: BarStyle) -> String {
    var facts = [
      percent.map { "\(String(repeating: " ", count: $0 < 10 ? 2 : $0 < 100 ? 1 : 0))\($0)%" }
    ].compactMap(\.self)
    facts += amounts
    if let bytesPerSecond { facts.append("\(ByteSize.text(Int64(bytesPerSecond)))/s") }
    if let timeLeft { facts.append("\(TimeText.position(timeLeft)) left") }
    while facts.count > 1, joined(facts).count > width { facts.removeLast() }
    let tail = joined(facts)

    let spare = width - tail.count - 4
    let nameWidth = min(name.count, max(0, spare - 10), 32)
    let barWidth = percent == nil ? 0 : min(32, spare - nameWidth)
    var parts: [String] = []
    if nameWidth >= 6 || nameWidth == name.count, nameWidth > 0 {
      parts.append(shortened(name, to: nameWidth))
    }
    if barWidth >= 8 { parts.append(style.bar(fraction: fraction, width: barWidth)) }
    parts.append(tail)
    return String(joined(parts).prefix(max(0, width)))
  }

  private func joined(_ parts: [String]) -> String { parts.joined(separator: "  ") }
}

/// The characters of a bar.
enum BarStyle: Sendable {
  /// Blocks, if the terminal's text is UTF-8.
  case blocks
  case ascii

  func bar(fraction: Double, width: Int) -> String {
    switch self {
    case .blocks:
      let full = Int((fraction * Double(width)).rounded(.down))
      return String(repeating: "█", count: full) + String(repeating: "░", count: width - full)
    case .ascii:
      let inner = width - 2
      let full = Int((fraction * Double(inner)).rounded(.down))
      return "[" + String(repeating: "#", count: full)
        + String(repeating: ".", count: inner - full) + "]"
    }
  }
}

/// Bytes per second, smoothed over the last three seconds. A pure value.
struct Speed {
  /// The smoothing time in seconds: most of a change shows after this long.
  private static let memory = 3.0

  private var lastTime: Duration?
  private var lastBytes: Int64 = 0
  private(set) var bytesPerSecond: Double?

  /// Records the byte count at a time; times must not decrease.
  mutating func note(bytes: Int64, at time: Duration) {
    guard let earlier = lastTime else {
      (lastTime, lastBytes) = (time, bytes)
      return
    }
    let elapsed = (time - earlier) / .seconds(1)
    guard elapsed >= 0.05 else { return }
    let now = Double(bytes - lastBytes) / elapsed
    let weight = min(1, elapsed / Self.memory)
    bytesPerSecond = bytesPerSecond.map { $0 + (now - $0) * weight } ?? now
    (lastTime, lastBytes) = (time, bytes)
  }

  /// Returns the time that this many bytes will take; nil while it cannot be estimated.
  func timeLeft(for bytes: Int64) -> Duration? {
    guard let bytesPerSecond, bytesPerSecond >= 1, bytes >= 0 else { return nil }
    let seconds = Double(bytes) / bytesPerSecond
    return seconds < 360_000 ? .seconds(seconds.rounded(.up)) : nil
  }
}
