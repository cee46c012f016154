// SPDX-License-Identifier: MIT

/// Measures the time from the request for an item to its first sound.
struct PlaybackStarts {
  private var asked: [EngineItem.ID: ContinuousClock.Instant] = [:]
  private var heard: [EngineItem.ID: Duration] = [:]

  /// Records that an item was requested or began by itself; the earlier of both counts.
  mutating func begin(_ id: EngineItem.ID) {
    if asked[id] == nil { asked[id] = .now }
  }

  /// Records the first sound of an item, and returns the time that it took.
  mutating func hear(_ id: EngineItem.ID) -> Duration? {
    guard let start = asked[id], heard[id] == nil else { return nil }
    let time = ContinuousClock.now - start
    heard[id] = time
    return time
  }

  /// Returns the time to the first sound; nil if there was none. Discards this item and earlier
  /// ones.
  mutating func leave(_ id: EngineItem.ID) -> Duration? {
    defer {
      asked = asked.filter { $0.key.rawValue > id.rawValue }
      heard = heard.filter { $0.key.rawValue > id.rawValue }
    }
    return heard[id]
  }
}
