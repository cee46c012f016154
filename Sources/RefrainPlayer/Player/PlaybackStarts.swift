// SPDX-License-Identifier: MIT

/// How long items take from being asked for to their first sound.
struct PlaybackStarts {
  private var asked: [EngineItem.ID: ContinuousClock.Instant] = [:]
  private var heard: [EngineItem.ID: Duration] = [:]

  /// It was asked for, or follows by itself; the earlier of both counts.
  mutating func begin(_ id: EngineItem.ID) {
    if asked[id] == nil { asked[id] = .now }
  }

  /// Returns how long it took.
  mutating func hear(_ id: EngineItem.ID) -> Duration? {
    guard let start = asked[id], heard[id] == nil else { return nil }
    let time = ContinuousClock.now - start
    heard[id] = time
    return time
  }

  /// Returns how long it took; nil where there was no sound. Forgets it, and what came before it.
  mutating func leave(_ id: EngineItem.ID) -> Duration? {
    defer {
      asked = asked.filter { $0.key.rawValue > id.rawValue }
      heard = heard.filter { $0.key.rawValue > id.rawValue }
    }
    return heard[id]
  }
}
