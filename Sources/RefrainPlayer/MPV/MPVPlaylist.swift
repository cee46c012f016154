// SPDX-License-Identifier: MIT
#if os(Linux)
  /// Maps libmpv's events to items. A pure value.
  struct MPVPlaylist {
    struct Item {
      var playback: MPVPlayback
      /// Its number in the registry; nil for a file.
      var number: UInt64?
      /// Whether it follows the loaded item, and has not begun yet.
      var isToFollow = false
    }

    /// The items by mpv's id of the playlist entry.
    private var items: [Int64: Item] = [:]
    private var currentEntry: Int64?
    /// The item that played to its end, while it is unknown what follows.
    private(set) var ended: EngineItem.ID?

    var isEmpty: Bool { items.isEmpty }

    var current: MPVPlayback? { currentEntry.flatMap { items[$0]?.playback } }

    /// Replaces all items by a loaded one, or by none. Returns the replaced ones.
    mutating func replaceAll(with item: Item?, entry: Int64) -> [Item] {
      let replaced = Array(items.values)
      items = [:]
      (currentEntry, ended) = (nil, nil)
      if let item { items[entry] = item }
      return replaced
    }

    /// Removes items that have yet to begin. Returns them.
    mutating func removeFollowing() -> [Item] {
      let removed = items.filter { $0.value.isToFollow }
      for entry in removed.keys { items[entry] = nil }
      return Array(removed.values)
    }

    mutating func follow(with item: Item, entry: Int64) {
      items[entry] = item
      items[entry]?.isToFollow = true
    }

    /// Records that mpv began an entry. Returns the resulting events; none for an entry that was
    /// replaced.
    mutating func begin(entry: Int64) -> [EngineEvent] {
      currentEntry = entry
      guard let id = items[entry]?.playback.item.id else { return [] }
      items[entry]?.isToFollow = false
      defer { ended = nil }
      return (ended.map { [.ended($0, followedBy: id)] } ?? []) + [.began(id)]
    }

    /// Records that mpv ended an entry. Returns its item; nil if it was replaced.
    mutating func end(entry: Int64) -> Item? {
      if currentEntry == entry { currentEntry = nil }
      return items.removeValue(forKey: entry)
    }

    mutating func noteEnd(of id: EngineItem.ID) { ended = id }

    /// Records that mpv has nothing to play. Returns the resulting events.
    mutating func rest() -> [EngineEvent] {
      defer { ended = nil }
      return ended.map { [.ended($0, followedBy: nil)] } ?? []
    }
  }
#endif
