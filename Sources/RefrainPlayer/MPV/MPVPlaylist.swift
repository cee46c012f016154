// SPDX-License-Identifier: MIT
#if os(Linux)
  /// Which item libmpv's events are about. A pure value.
  struct MPVPlaylist {
    struct Item {
      var playback: MPVPlayback
      /// Its number in the registry; nil for a file.
      var number: UInt64?
      /// It comes after the one that was loaded, and has not begun yet.
      var isToFollow = false
    }

    /// By mpv's id of the playlist entry.
    private var items: [Int64: Item] = [:]
    private var currentEntry: Int64?
    /// Played to its end, while it is not known yet what follows.
    private(set) var ended: EngineItem.ID?

    var isEmpty: Bool { items.isEmpty }

    var current: MPVPlayback? { currentEntry.flatMap { items[$0]?.playback } }

    /// Everything that was there goes, for an item that is loaded, or for nothing. Returns it.
    mutating func replaceAll(with item: Item?, entry: Int64) -> [Item] {
      let replaced = Array(items.values)
      items = [:]
      (currentEntry, ended) = (nil, nil)
      if let item { items[entry] = item }
      return replaced
    }

    /// What was to follow goes, unless it is playing already. Returns it.
    mutating func removeFollowing() -> [Item] {
      let removed = items.filter { $0.value.isToFollow }
      for entry in removed.keys { items[entry] = nil }
      return Array(removed.values)
    }

    mutating func follow(with item: Item, entry: Int64) {
      items[entry] = item
      items[entry]?.isToFollow = true
    }

    /// mpv has come to an entry. Returns what that means; nothing for an entry that was replaced.
    mutating func begin(entry: Int64) -> [EngineEvent] {
      currentEntry = entry
      guard let id = items[entry]?.playback.item.id else { return [] }
      items[entry]?.isToFollow = false
      defer { ended = nil }
      return (ended.map { [.ended($0, followedBy: id)] } ?? []) + [.began(id)]
    }

    /// mpv is over with an entry. Nil for one that was replaced.
    mutating func end(entry: Int64) -> Item? {
      if currentEntry == entry { currentEntry = nil }
      return items.removeValue(forKey: entry)
    }

    mutating func noteEnd(of id: EngineItem.ID) { ended = id }

    /// mpv has nothing to play.
    mutating func rest() -> [EngineEvent] {
      defer { ended = nil }
      return ended.map { [.ended($0, followedBy: nil)] } ?? []
    }
  }
#endif
