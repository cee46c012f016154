// SPDX-License-Identifier: MIT

/// The play order of a shuffled list: its indices, those played before the current place, the
/// others after it.
struct ShuffledOrder: Sendable, Hashable, Codable {
  /// Every index of the list once.
  private(set) var indices: [Int]
  /// The number of first `indices` among which nothing is shuffled in: played, current, and
  /// requested next.
  private(set) var settled: Int
  /// The indices that earlier rounds played, the latest last: going back from the first place leads
  /// there.
  private(set) var earlier: [Int] = []

  /// The number of indices kept of earlier rounds.
  static let earlierLimit = 1000

  /// - Parameter first: the index that comes first; nil: nothing is current, and the order is over.
  init(count: Int, first: Int?, using generator: inout ShuffleGenerator) {
    indices = Array(0..<count)
    indices.shuffle(using: &generator)
    settled = first == nil ? count : 1
    if let first, let place = indices.firstIndex(of: first) { indices.swapAt(0, place) }
  }

  /// Validates a stored order; nil if it contradicts itself or its list.
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

  /// Records that a place was reached: nothing is shuffled in before it any more.
  mutating func reach(_ position: Int) {
    settled = max(settled, min(position + 1, indices.count))
  }

  /// Restarts the order, with nothing of it played.
  mutating func restart() {
    settled = min(1, indices.count)
    earlier = []
  }

  /// Replaces the order, which was played to its end, by a new one that does not begin with `last`,
  /// unless there is nothing else.
  mutating func startNewRound(after last: Int?, using generator: inout ShuffleGenerator) {
    earlier = Array((earlier + indices).suffix(Self.earlierLimit))
    indices.shuffle(using: &generator)
    if indices.count > 1, indices[0] == last {
      indices.swapAt(0, Int.random(in: 1..<indices.count, using: &generator))
    }
    settled = min(1, indices.count)
  }

  /// Goes back from the first place into an earlier round: the index played last there moves to the
  /// first place.
  ///
  /// - Returns: false if no other index is kept; then nothing has changed.
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

  /// Moves the index at one place to another.
  mutating func shift(from place: Int, to target: Int) {
    let index = indices.remove(at: place)
    indices.insert(index, at: target)
    if place >= settled, target <= settled { settled += 1 }
  }

  // MARK: What the list has

  /// Adds `count` indices for items inserted into the list at `index`; they play at `position`,
  /// among the settled ones, in list order.
  mutating func insert(_ count: Int, at index: Int, playingAt position: Int) {
    makeRoom(count, at: index)
    indices.insert(contentsOf: index..<(index + count), at: position)
    settled += count
  }

  /// Adds `count` indices for items inserted into the list at `index`; they play at random places
  /// among the unsettled ones, which keep their order.
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

  /// Removes the index of an item removed from the list.
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

  /// Renumbers the indices for an item moved in the list; the play order stays.
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

/// The generator SplitMix64. Each queue holds its own, which makes all its shuffling depend on its
/// value alone: previewing a round that is not shuffled yet, and continuing after it was stored and
/// read again.
struct ShuffleGenerator: RandomNumberGenerator, Sendable, Hashable, Codable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
