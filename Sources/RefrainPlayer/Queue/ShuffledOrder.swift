// SPDX-License-Identifier: MIT

/// In which order a shuffled list plays: the list's indices, what was played before the place that
/// plays, what will be after it.
struct ShuffledOrder: Sendable, Hashable, Codable {
  /// Every index of the list once.
  private(set) var indices: [Int]
  /// How many of `indices` nothing is shuffled in before: what was played, what plays, what was asked
  /// for next.
  private(set) var settled: Int
  /// What rounds before this one played, the latest last: where going back goes from the first place.
  private(set) var earlier: [Int] = []

  /// How much is remembered of earlier rounds.
  static let earlierLimit = 1000

  /// - Parameter first: the index that comes first; nil where nothing plays, and all is over.
  init(count: Int, first: Int?, using generator: inout ShuffleGenerator) {
    indices = Array(0..<count)
    indices.shuffle(using: &generator)
    settled = first == nil ? count : 1
    if let first, let place = indices.firstIndex(of: first) { indices.swapAt(0, place) }
  }

  /// What was stored; nil where it contradicts itself, or the list that it belongs to.
  init?(checking stored: ShuffledOrder, count: Int, position: Int) {
    var seen = Array(repeating: false, count: count)
    guard stored.indices.count == count, stored.earlier.count <= Self.earlierLimit,
      stored.earlier.allSatisfy({ (0..<count).contains($0) }),
      stored.settled <= count, stored.settled >= min(position + 1, count)
    else { return nil }
    for index in stored.indices {
      guard (0..<count).contains(index), !seen[index] else { return nil }
      seen[index] = true
    }
    self = stored
  }

  // MARK: What plays

  /// The place was reached: nothing is shuffled in before it any more.
  mutating func reach(_ position: Int) {
    settled = max(settled, min(position + 1, indices.count))
  }

  /// What was in this order begins anew, and nothing of it was played.
  mutating func restart() {
    settled = min(1, indices.count)
    earlier = []
  }

  /// The order was played to its end: another one, that does not begin with `last` unless there is
  /// nothing else.
  mutating func startNewRound(after last: Int?, using generator: inout ShuffleGenerator) {
    earlier = Array((earlier + indices).suffix(Self.earlierLimit))
    indices.shuffle(using: &generator)
    if indices.count > 1, indices[0] == last {
      indices.swapAt(0, Int.random(in: 1..<indices.count, using: &generator))
    }
    settled = min(1, indices.count)
  }

  /// From the first place back into an earlier round: what it played last comes before the first
  /// place now, and leaves the one that it had.
  ///
  /// - Returns: false where nothing else is remembered; then nothing has changed.
  mutating func goBackToEarlierRound() -> Bool {
    var rest = earlier
    while let index = rest.popLast() {
      guard let place = indices.firstIndex(of: index), place > 0 else { continue }
      earlier = rest
      shift(from: place, to: 0)
      return true
    }
    return false
  }

  /// Takes what is at one place to another.
  mutating func shift(from place: Int, to target: Int) {
    let index = indices.remove(at: place)
    indices.insert(index, at: target)
    if place >= settled, target <= settled { settled += 1 }
  }

  // MARK: What the list has

  /// The list got `count` more at `index`; they play at `position`, among what is settled, in the
  /// order of the list.
  mutating func insert(_ count: Int, at index: Int, playingAt position: Int) {
    makeRoom(count, at: index)
    indices.insert(contentsOf: index..<(index + count), at: position)
    settled += count
  }

  /// The list got `count` more at `index`; they play somewhere among what is not settled, which keeps
  /// its own order.
  mutating func shuffleIn(_ count: Int, at index: Int, using generator: inout ShuffleGenerator) {
    makeRoom(count, at: index)
    var added = Array(index..<(index + count)).shuffled(using: &generator)[...]
    var unplayed = indices[settled...]
    var merged = Array(indices[..<settled])
    merged.reserveCapacity(indices.count + count)
    while let one = added.first {
      if Int.random(in: 0..<(added.count + unplayed.count), using: &generator) < added.count {
        merged.append(one)
        added.removeFirst()
      } else if let one = unplayed.popFirst() {
        merged.append(one)
      }
    }
    indices = merged + unplayed
  }

  private mutating func makeRoom(_ count: Int, at index: Int) {
    renumber { $0 >= index ? $0 + count : $0 }
  }

  /// The list lost what was at `index`.
  ///
  /// - Returns: the place at which it would have played.
  mutating func remove(_ index: Int) -> Int? {
    guard let place = indices.firstIndex(of: index) else { return nil }
    indices.remove(at: place)
    if place < settled { settled -= 1 }
    earlier.removeAll { $0 == index }
    renumber { $0 > index ? $0 - 1 : $0 }
    return place
  }

  /// In the list, something was moved; the order in which it plays stays.
  mutating func renumber(movedFrom source: Int, to target: Int) {
    renumber { index in
      if index == source { return target }
      if index > source, index <= target { return index - 1 }
      if index < source, index >= target { return index + 1 }
      return index
    }
  }

  private mutating func renumber(_ renumbered: (Int) -> Int) {
    for place in indices.indices { indices[place] = renumbered(indices[place]) }
    for place in earlier.indices { earlier[place] = renumbered(earlier[place]) }
  }
}
