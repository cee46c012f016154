// SPDX-License-Identifier: MIT

extension PlayQueue {
  /// Why the queue goes on.
  public enum Cause: Sendable, Hashable {
    /// The current one was played to its end.
    case ended
    /// Somebody wants the next one.
    case asked
  }

  /// What `advance(_:)` would make current.
  public func next(_ cause: Cause) -> Item? {
    var copy = self
    return copy.advance(cause)
  }

  /// Makes the next one in play order current.
  ///
  /// - Returns: the current one: the same again with `RepeatMode.one` where it ended; after the last
  ///   one with `RepeatMode.all`, the first of the next round, which, shuffled, is another than the
  ///   one just played where there is another. Nil where the queue is over: the current one stays.
  @discardableResult public mutating func advance(_ cause: Cause) -> Item? {
    if cause == .ended, repeatMode == .one, let current { return current }
    if position + 1 < items.count {
      position += 1
    } else {
      guard repeatMode == .all, !isEmpty else { return nil }
      let last = currentIndex
      shuffled?.startNewRound(after: last, using: &generator)
      position = 0
    }
    shuffled?.reach(position)
    return current
  }

  /// What `goBack()` would make current.
  public func previous() -> Item? {
    var copy = self
    return copy.goBack()
  }

  /// Makes the previous one current: in the listed order the one before, which for the first, with
  /// `RepeatMode.all`, is the last; shuffled, the one that was played before, also in earlier rounds
  /// (a thousand items far).
  ///
  /// - Returns: nil where there is none before: the current one stays.
  @discardableResult public mutating func goBack() -> Item? {
    if position > 0 {
      position -= 1
    } else if isShuffled {
      guard shuffled?.goBackToEarlierRound() == true else { return nil }
    } else {
      guard repeatMode == .all, !isEmpty else { return nil }
      position = items.count - 1
    }
    return current
  }

  /// Makes an item current. Shuffled, it comes right after the one that was current: going back leads
  /// there, and what was not played yet is played after it.
  ///
  /// - Returns: false where it is not in the queue.
  @discardableResult public mutating func jump(to id: Item.ID) -> Bool {
    guard let index = index(of: id) else { return false }
    guard index != currentIndex else { return true }
    guard let place = shuffled?.indices.firstIndex(of: index) else {
      position = index
      return true
    }
    // What is taken away before the current one makes that one move up.
    let target = place < position ? min(position, items.count - 1) : position + 1
    shuffled?.shift(from: place, to: target)
    position = target
    shuffled?.reach(position)
    return true
  }

  /// To the first in play order, with nothing played before it: as a queue that was played to its end
  /// begins anew. A shuffled order stays as it is.
  public mutating func rewind() {
    position = 0
    shuffled?.restart()
  }

  /// Shuffled, the current one comes first, and the others in an order that is new each time
  /// shuffling is turned on. Not shuffled, the listed order plays on after the current one.
  public mutating func setShuffled(_ isShuffled: Bool) {
    guard isShuffled != self.isShuffled else { return }
    let current = currentIndex
    if isShuffled {
      shuffled = ShuffledOrder(count: items.count, first: current, using: &generator)
      position = current == nil ? items.count : 0
    } else {
      shuffled = nil
      position = current ?? items.count
    }
  }

  func index(of id: Item.ID) -> Int? { items.firstIndex { $0.id == id } }
}
