// SPDX-License-Identifier: MIT
#if os(Linux)
  /// Maps libmpv's events to items. A pure value.
  struct MPVPlaylist {
    struct Item {
      var playback: MPVPlayback
      /// Its number in the registry; nil for a file.
      var number: UInt64?
      var subtitles: [MPVSubtitle] = []
      /// Whether it follows the loaded item, and has not begun yet.
      var isToFollow = false
    }

    /// The items by mpv's id of the playlist entry.
    private var items: [Int64: Item] = [:]
    private var currentEntry: Int64?
    /// The item that played to its end, while it is unknown what follows.
    private(set) var ended: EngineItem.ID?
    /// The item that a command of the window ended, while it is unknown what follows.
    private var displaced: EngineItem.ID?

    /// What it means that mpv has begun an entry.
    enum Beginning: Equatable {
      /// An item of the engine, with the resulting events.
      case item([EngineEvent])
      /// The following item, before the current one was over: the listener pressed a button of the
      /// controller.
      case early
      /// A file that the engine did not name, in place of this item: it was dropped on the window.
      case foreign(EngineItem.ID)
      /// An item that was removed after mpv had advanced to it.
      case removed
      /// An item that was replaced, which mpv is about to leave.
      case replaced
    }

    var isEmpty: Bool { items.isEmpty }

    var current: MPVPlayback? { currentEntry.flatMap { items[$0]?.playback } }

    /// The item that is to follow, and has not begun yet.
    var following: MPVPlayback? { items.values.first { $0.isToFollow }?.playback }

    /// The current item's external subtitles.
    var currentSubtitles: [MPVSubtitle] {
      currentEntry.flatMap { items[$0] }?.subtitles ?? []
    }

    /// Replaces all items by a loaded one, or by none. Returns the replaced ones.
    mutating func replaceAll(with item: Item?, entry: Int64) -> [Item] {
      let replaced = Array(items.values)
      items = [:]
      (currentEntry, ended, displaced) = (nil, nil, nil)
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

    /// Records that mpv began an entry.
    mutating func begin(entry: Int64) -> Beginning {
      currentEntry = entry
      defer { displaced = nil }
      guard let item = items[entry] else {
        if ended != nil { return .removed }
        return displaced.map { .foreign($0) } ?? .replaced
      }
      items[entry]?.isToFollow = false
      if item.isToFollow, ended == nil { return .early }
      defer { ended = nil }
      let id = item.playback.item.id
      return .item((ended.map { [.ended($0, followedBy: id)] } ?? []) + [.began(id)])
    }

    /// Records that mpv ended an entry. Returns its item; nil if it was replaced.
    mutating func end(entry: Int64) -> Item? {
      if currentEntry == entry { currentEntry = nil }
      return items.removeValue(forKey: entry)
    }

    mutating func noteEnd(of id: EngineItem.ID) { ended = id }

    /// Records that mpv left an item of the engine without a request of the engine.
    mutating func noteDisplacement(of id: EngineItem.ID) { displaced = id }

    /// Records that mpv has nothing to play. Returns the resulting events.
    mutating func rest() -> [EngineEvent] {
      defer { (ended, displaced) = (nil, nil) }
      return (ended.map { [.ended($0, followedBy: nil)] } ?? [])
        + (displaced.map { [.displaced($0)] } ?? [])
    }
  }
#endif
