// SPDX-License-Identifier: MIT
import RefrainPlayer

typealias QueueID = PlayQueue.Item.ID

/// A model of the queue in plain lists. For a shuffled queue, the model takes over the queue's
/// order, and states its invariants.
struct QueueModel {
  var mode = PlayQueue.RepeatMode.off
  var listed: [QueueID] = []
  /// The shuffled order; nil: the listed order plays.
  var shuffledOrder: [QueueID]?
  var current: QueueID?
  /// Items played, current, or requested next: added items come after all of these.
  var settled: Set<QueueID> = []
  var earlier: [QueueID] = []

  var order: [QueueID] { shuffledOrder ?? listed }
  private var place: Int { current.flatMap { order.firstIndex(of: $0) } ?? order.count }

  /// A contradiction between queue and model.
  struct Wrong: Error {
    var text: String
  }

  func require(_ holds: Bool, _ text: @autoclosure () -> String) throws {
    if !holds { throw Wrong(text: text()) }
  }

  private mutating func adopt(_ queue: PlayQueue) {
    shuffledOrder = queue.playOrder.map(\.id)
  }

  mutating func replaced(by ids: [QueueID], startingAt index: Int, _ queue: PlayQueue) throws {
    listed = ids
    current = ids.isEmpty ? nil : ids[min(max(index, 0), ids.count - 1)]
    if shuffledOrder != nil { try shuffled(queue) }
  }

  mutating func shuffled(_ queue: PlayQueue) throws {
    adopt(queue)
    try require(current == nil || order.first == current, "The current one comes first.")
    settled = current.map { [$0] } ?? Set(order)
    earlier = []
  }

  mutating func inserted(_ ids: [QueueID], at index: Int, _ queue: PlayQueue) throws {
    let index = min(max(index, 0), listed.count)
    let (before, isAtEnd) = (order, index == listed.count)
    listed.insert(contentsOf: ids, at: index)
    if shuffledOrder != nil {
      adopt(queue)
      try require(order.filter { !ids.contains($0) } == before, "The others keep their order.")
      let last = order.lastIndex { settled.contains($0) }
      let first = order.firstIndex { ids.contains($0) }
      if let last, let first { try require(last < first, "They come among the unplayed.") }
      if current == nil, !ids.isEmpty { current = order[before.count] }
      if let current { settled.insert(current) }
    } else if current == nil, isAtEnd {
      current = ids.first
    }
  }

  mutating func insertedNext(_ ids: [QueueID]) {
    let next = current.flatMap { listed.firstIndex(of: $0) }.map { $0 + 1 } ?? listed.count
    let playing = min(place + 1, order.count)
    listed.insert(contentsOf: ids, at: next)
    shuffledOrder?.insert(contentsOf: ids, at: playing)
    settled.formUnion(ids)
    if current == nil { current = ids.first }
  }

  mutating func removed(_ id: QueueID, _ queue: PlayQueue) throws {
    if id == current {
      try advanced(.asked, queue, isRemoval: true)
      if current == id { current = nil }
    }
    listed.removeAll { $0 == id }
    shuffledOrder?.removeAll { $0 == id }
    settled.remove(id)
    earlier.removeAll { $0 == id }
  }

  mutating func moved(_ id: QueueID, to index: Int) {
    listed.removeAll { $0 == id }
    listed.insert(id, at: min(max(index, 0), listed.count))
  }

  mutating func jumped(to id: QueueID) {
    defer { current = id }
    guard id != current, shuffledOrder != nil else { return }
    shuffledOrder?.removeAll { $0 == id }
    let target = place == order.count ? order.count : place + 1
    shuffledOrder?.insert(id, at: target)
    settled.insert(id)
  }

  /// - Parameter isRemoval: whether the current item is gone from the queue already.
  mutating func advanced(
    _ cause: PlayQueue.Cause, _ queue: PlayQueue, isRemoval: Bool = false
  ) throws {
    if cause == .ended, mode == .one, current != nil { return }
    if place + 1 < order.count {
      current = order[place + 1]
    } else if mode == .all, let first = order.first {
      if shuffledOrder == nil {
        current = first
      } else {
        let last = current
        earlier = (earlier + order).suffix(1000)
        adopt(queue)
        if isRemoval, let last, order.isEmpty { shuffledOrder = [last] }
        current = order.first
        try require(current != last || order.count == 1, "A round begins with another one.")
        settled = []
      }
    } else if isRemoval {
      current = nil
    }
    if let current { settled.insert(current) }
  }

  mutating func wentBack() {
    if place > 0 {
      current = order[place - 1]
    } else if shuffledOrder == nil {
      if mode == .all { current = order.last }
    } else {
      var rest = earlier
      while rest.last != nil, rest.last == order.first { rest.removeLast() }
      guard let last = rest.popLast() else { return }
      earlier = rest
      shuffledOrder?.removeAll { $0 == last }
      shuffledOrder?.insert(last, at: 0)
      settled.insert(last)
      current = last
    }
  }

  mutating func rewound() {
    current = order.first
    settled = current.map { [$0] } ?? []
    earlier = []
  }

  func check(_ queue: PlayQueue) throws {
    try require(queue.items.map(\.id) == listed, "listed \(queue.items.map(\.id.rawValue))")
    try require(queue.playOrder.map(\.id) == order, "order \(queue.playOrder.map(\.id.rawValue))")
    try require(queue.current?.id == current, "current \(String(describing: queue.current?.id))")
    try require(queue.currentIndex == current.flatMap { listed.firstIndex(of: $0) }, "index")
    try require(Set(order) == Set(listed) && order.count == listed.count, "a permutation")
    try require(queue.isShuffled == (shuffledOrder != nil) && queue.repeatMode == mode, "modes")
    try require(queue.isEmpty == listed.isEmpty, "empty")
  }
}
