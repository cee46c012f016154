// SPDX-License-Identifier: MIT
import ArgumentParser
import Refrain

/// How much is reported on standard error besides the command's own messages.
enum LogLevel: String, CaseIterable, Comparable, ExpressibleByArgument {
  case error, warning, info, debug

  static func < (a: LogLevel, b: LogLevel) -> Bool { a.rank < b.rank }

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

extension CacheEvent {
  /// The lowest level at which an event is logged, and its text. Failures are reported by the
  /// command; the log repeats them from `info` on.
  var log: (level: LogLevel, text: String) {
    switch self {
    case .warning(let text): (.warning, text)
    case .opened(let key): (.info, "opened \(key)")
    case .fetchStarted(let key, let range):
      (.info, "fetching \(Self.text(range)) of \(key)")
    case .fetchFinished(let key, let range, let error):
      (
        .info,
        "ended fetching \(Self.text(range)) of \(key)" + (error.map { ": \($0)" } ?? "")
      )
    case .retrying(let key, let error, _): (.info, "trying again: \(key): \(error.reason)")
    case .generationChanged(let key): (.info, "changed at the origin: \(key)")
    case .streamTitle(let key, let title):
      (.info, "plays \(title.title ?? title.station.name ?? "something else") on \(key)")
    case .evicted(let key, let bytes): (.info, "evicted \(ByteSize.text(bytes)) of \(key)")
    case .failed(let key, let error): (.info, "failed: \(key): \(error)")
    case .received(let key, let bytes): (.debug, "received \(bytes) bytes of \(key)")
    case .servedFromDisk(let key, let bytes): (.debug, "read \(bytes) bytes of \(key) from disk")
    case .committed(let key, let range):
      (.debug, "stored \(Self.text(range)) of \(key)")
    }
  }

  /// `bytes 0-99`; `bytes 100-` while the end is unknown, as in a `Range` field (RFC 9110 §14.2).
  private static func text(_ range: ByteRange) -> String {
    "bytes \(range.lowerBound)-" + (range.upperBound == .max ? "" : "\(range.upperBound - 1)")
  }
}

/// Writes the events of a cache to standard error.
struct EventLog: Sendable {
  private let task: Task<Void, Never>

  /// Begins to write events up to a level.
  init(_ cache: MediaCache, _ threshold: LogLevel) {
    // Events of every chunk of bytes cost something.
    let events = cache.events(includingTraffic: threshold >= .debug)
    task = Task {
      for await event in events {
        let (level, text) = event.log
        if level <= threshold { Console.shared.noteLater("refrain: \(printable(text))") }
      }
    }
  }

  /// Returns when the events of a closed cache are handed to the console, which writes them.
  func end() async { await task.value }
}
