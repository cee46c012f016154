// SPDX-License-Identifier: MIT
import Refrain

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
