// SPDX-License-Identifier: MIT
#if os(Linux)
  /// Which playback mpv's events are about. A pure value.
  struct MPVPlaying {
    struct Item {
      var playback: MPVPlayback
      /// Its number in the registry.
      var number: UInt64
      var isStarted = false
      var isHeard = false
    }

    /// By mpv's id of the playlist entry.
    private var items: [Int64: Item] = [:]
    private var currentEntry: Int64?
    private var lastPosition: Duration?

    var all: [MPVPlayback] { items.values.map(\.playback) }

    var current: MPVPlayback? { currentEntry.flatMap { items[$0]?.playback } }

    /// Returns those that were loaded before and never began: mpv forgets them without a word.
    mutating func add(_ playback: MPVPlayback, number: UInt64, entry: Int64) -> [Item] {
      let forgotten = items.filter { !$0.value.isStarted }
      for entry in forgotten.keys { items[entry] = nil }
      items[entry] = Item(playback: playback, number: number)
      return Array(forgotten.values)
    }

    mutating func start(entry: Int64) {
      items[entry]?.isStarted = true
      currentEntry = entry
      lastPosition = nil
    }

    /// Playing began, at the start or after a seek. Returns the playback the first time only.
    mutating func hear() -> MPVPlayback? {
      guard let entry = currentEntry, items[entry]?.isHeard == false else { return nil }
      items[entry]?.isHeard = true
      return items[entry]?.playback
    }

    /// Whether a position is worth telling: sound has come, and it is a tenth of a second away from
    /// the last one told.
    mutating func isDue(_ position: Duration) -> Bool {
      guard let currentEntry, items[currentEntry]?.isHeard == true else { return false }
      if let lastPosition, abs((position - lastPosition).inSeconds) < 0.1 { return false }
      lastPosition = position
      return true
    }

    mutating func end(entry: Int64) -> Item? {
      if currentEntry == entry { currentEntry = nil }
      return items.removeValue(forKey: entry)
    }
  }
#endif
