// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// Writes the events of a cache to standard error, by a level that can change.
final class EventLog: Sendable {
  private struct Listening: Sendable {
    var task: Task<Void, Never>
    var includesTraffic: Bool
  }

  private let cache: MediaCache
  private let threshold: LogThreshold
  private let listening = Mutex<Listening?>(nil)

  /// Begins to write.
  init(_ cache: MediaCache, _ threshold: LogThreshold) {
    (self.cache, self.threshold) = (cache, threshold)
    threshold.onChange { [weak self] in self?.follow() }
    follow()
  }

  /// Listens to events of every chunk of bytes only while they are wanted: they cost something.
  private func follow() {
    let includesTraffic = threshold.includes(.debug)
    listening.withLock { listening in
      guard listening?.includesTraffic != includesTraffic else { return }
      // Before the other one ends: none is lost, and at most a few are written twice.
      let events = cache.events(includingTraffic: includesTraffic)
      listening?.task.cancel()
      let task = Task { [threshold] in
        for await event in events {
          let (level, text) = event.log
          if threshold.includes(level) { Console.shared.noteLater("refrain: \(printable(text))") }
        }
      }
      listening = Listening(task: task, includesTraffic: includesTraffic)
    }
  }

  /// Returns when the events of a closed cache are handed to the console, which writes them.
  func end() async {
    threshold.onChange(nil)
    await listening.withLock { $0?.task }?.value
  }
}
