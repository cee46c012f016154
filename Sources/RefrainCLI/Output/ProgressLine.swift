// SPDX-License-Identifier: MIT

/// The progress of a long piece of work, and its text. A pure value.
struct ProgressLine: Sendable, BarLine {
  var name: String
  var done: Int64
  var total: Int64?
  var bytesPerSecond: Double?
  var timeLeft: Duration?

  /// 0…100, rounded down: 100 only when all is done. Nil while the total is unknown.
  var percent: Int? {
    guard let total else { return nil }
    guard total > 0, done < total else { return 100 }
    return Int(Double(max(0, done)) / Double(total) * 100)
  }

  /// Returns `song.flac  ██████░░░░  61%  14.4 MiB of 23.6 MiB  4.1 MiB/s  0:03 left`, in at most
  /// `width` characters: the name is dropped first, then the bar, then the last facts.
  func bar(width: Int, style: BarStyle) -> String {
    var facts = [
      percent.map { "\(String(repeating: " ", count: $0 < 10 ? 2 : $0 < 100 ? 1 : 0))\($0)%" }
    ]
    facts.append(amount)
    facts.append(bytesPerSecond.map { "\(ByteSize.text(Int64($0)))/s" })
    facts.append(timeLeft.map { "\(TimeText.position($0)) left" })
    var shown = facts.compactMap(\.self)
    while shown.count > 1, joined(shown).count > width { shown.removeLast() }
    let tail = joined(shown)

    let spare = width - tail.count - 4
    let nameWidth = min(name.count, max(0, spare - 10), 32)
    let barWidth = total == nil ? 0 : min(32, spare - nameWidth)
    var parts: [String] = []
    if nameWidth >= 6 || nameWidth == name.count, nameWidth > 0 {
      parts.append(shortened(name, to: nameWidth))
    }
    if barWidth >= 8 { parts.append(style.bar(fraction: fraction, width: barWidth)) }
    parts.append(tail)
    return String(joined(parts).prefix(max(0, width)))
  }

  /// `song.flac: 60% of 23.6 MiB`, for logs.
  var plain: String {
    guard let percent, let total else { return "\(name): \(ByteSize.text(done))" }
    return "\(name): \(percent)% of \(ByteSize.text(total))"
  }

  private var amount: String {
    guard let total else { return ByteSize.text(done) }
    return done >= total
      ? ByteSize.text(total) : "\(ByteSize.text(done)) of \(ByteSize.text(total))"
  }

  private var fraction: Double {
    guard let total, total > 0 else { return 1 }
    return min(1, max(0, Double(done) / Double(total)))
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
