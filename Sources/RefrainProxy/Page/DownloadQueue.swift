// SPDX-License-Identifier: MIT

/// The queue of downloads that a person has asked for. A pure value.
struct DownloadQueue: Sendable {
  struct Item: Sendable, Hashable {
    enum State: String, Sendable { case waiting, running, paused, done, failed }

    var id: UInt64
    var url: String
    var isPinned: Bool
    var state = State.waiting
    /// In bytes.
    var stored: Int64 = 0
    /// Nil while unknown.
    var total: Int64?
    /// With the remedy.
    var error: String?
    /// Whether it was to be pinned when it last began.
    fileprivate(set) var hasBegunPinned = false
  }

  /// A download in a file.
  struct Saved: Sendable, Hashable, Codable {
    var url: String
    /// A raw value of `Item.State`, or one that another version knows.
    var state: String
    var isPinned: Bool?
    /// In bytes.
    var stored: Int64?
    var total: Int64?
    var error: String?
  }

  /// The downloads that run at a time.
  static let width = 2
  /// The most downloads in the queue, ended ones included.
  static let longest = 1000
  /// The most ended ones that are kept.
  private static let mostEnded = 50

  private(set) var items: [Item] = []
  private var nextID: UInt64 = 1

  subscript(id: UInt64) -> Item? { items.first { $0.id == id } }

  /// Adds a URL at the end. One that is in the queue already is begun again, and pinned if either
  /// asks for it.
  ///
  /// - Returns: nil if the queue is full.
  mutating func add(_ url: String, isPinned: Bool) -> Item? {
    if let index = items.firstIndex(where: { $0.url == url && $0.state != .done }) {
      if [.paused, .failed].contains(items[index].state) { items[index].state = .waiting }
      // A running one begins once more at its end, to be pinned.
      items[index].isPinned = items[index].isPinned || isPinned
      items[index].error = nil
      return items[index]
    }
    items.removeAll { $0.url == url }
    let ended = items.filter { $0.state == .done }
    if ended.count >= Self.mostEnded, let first = ended.first {
      items.removeAll { $0.id == first.id }
    }
    guard items.count < Self.longest else { return nil }
    let item = Item(id: nextID, url: url, isPinned: isPinned)
    nextID += 1
    items.append(item)
    return item
  }

  /// The queue for a file.
  var saved: [Saved] {
    items.map {
      Saved(
        url: $0.url, state: $0.state.rawValue, isPinned: $0.isPinned, stored: $0.stored,
        total: $0.total, error: $0.error)
    }
  }

  /// Puts the downloads of an ended program before those of this one, as far as there is room. What
  /// was running waits for its turn. One that was added here too stays once, at its place here.
  mutating func restore(_ saved: [Saved]) {
    var known = Set(items.map(\.url))
    var restored: [Item] = []
    for one in saved {
      guard known.insert(one.url).inserted else {
        if one.isPinned == true, let own = items.first(where: { $0.url == one.url }) {
          _ = pin(own.id)
        }
        continue
      }
      guard restored.count + items.count < Self.longest else { continue }
      var item = Item(id: nextID, url: one.url, isPinned: one.isPinned ?? false)
      nextID += 1
      item.state =
        switch Item.State(rawValue: one.state) {
        case .running, .waiting: .waiting
        case .done: .done
        case .failed: .failed
        // What another version knows does not begin by itself.
        case .paused, nil: .paused
        }
      item.stored = Self.plausible(one.stored) ?? 0
      item.total = Self.plausible(one.total)
      item.error = one.error
      restored.append(item)
    }
    items = restored + items
  }

  private static func plausible(_ bytes: Int64?) -> Int64? {
    bytes.flatMap { (0...1 << 53).contains($0) ? $0 : nil }
  }

  /// Begins the next ones.
  ///
  /// - Returns: those to run now.
  mutating func begin() -> [Item] {
    var begun: [Item] = []
    var running = items.count { $0.state == .running }
    for index in items.indices where items[index].state == .waiting && running < Self.width {
      items[index].state = .running
      items[index].hasBegunPinned = items[index].isPinned
      running += 1
      begun.append(items[index])
    }
    return begun
  }

  /// - Returns: false if there is nothing to pause.
  mutating func pause(_ id: UInt64) -> Bool {
    change(id, from: [.waiting, .running], to: .paused)
  }

  /// Lets a paused or failed one wait for its turn.
  mutating func resume(_ id: UInt64) -> Bool {
    change(id, from: [.paused, .failed], to: .waiting)
  }

  private mutating func change(
    _ id: UInt64, from states: Set<Item.State>, to state: Item.State
  ) -> Bool {
    guard let index = items.firstIndex(where: { $0.id == id }),
      states.contains(items[index].state)
    else { return false }
    items[index].state = state
    items[index].error = nil
    return true
  }

  /// Has one pinned: at its start. A running one begins once more at its end, and one that is
  /// complete now.
  mutating func pin(_ id: UInt64) -> Bool {
    guard let index = items.firstIndex(where: { $0.id == id }) else { return false }
    if !items[index].isPinned, items[index].state == .done { items[index].state = .waiting }
    items[index].isPinned = true
    return true
  }

  /// Moves one by some places, negative to the front.
  mutating func move(_ id: UInt64, by places: Int) -> Bool {
    guard let index = items.firstIndex(where: { $0.id == id }) else { return false }
    let target = min(max(index.addingSaturated(places), 0), items.count - 1)
    let item = items.remove(at: index)
    items.insert(item, at: target)
    return true
  }

  mutating func remove(_ id: UInt64) -> Bool {
    guard let index = items.firstIndex(where: { $0.id == id }) else { return false }
    items.remove(at: index)
    return true
  }

  mutating func note(_ id: UInt64, stored: Int64, total: Int64?) {
    guard let index = items.firstIndex(where: { $0.id == id }) else { return }
    (items[index].stored, items[index].total) = (stored, total)
  }

  /// Records the end of a running one; nothing if it was paused or removed meanwhile. One that was
  /// to be pinned only after it had begun waits for another turn, which finds its bytes stored.
  ///
  /// - Parameter error: nil if it is complete.
  mutating func end(_ id: UInt64, error: String?) {
    guard let index = items.firstIndex(where: { $0.id == id }), items[index].state == .running
    else { return }
    if error == nil, items[index].isPinned, !items[index].hasBegunPinned {
      items[index].state = .waiting
      return
    }
    items[index].state = error == nil ? .done : .failed
    items[index].error = error
    if error == nil { items[index].total = items[index].stored }
  }
}

extension Int {
  fileprivate func addingSaturated(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }
}
