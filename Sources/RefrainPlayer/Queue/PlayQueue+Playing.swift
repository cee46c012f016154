// SPDX-License-Identifier: MIT

extension PlayQueue {
  /// The reason why the queue advances.
  public enum Cause: Sendable, Hashable {
    /// The current item was played to its end.
    case ended
    /// The next item was requested.
    case asked
  }

  /// Returns the item that `advance(_:)` would make current.
  public func next(_ cause: Cause) -> Item? {
    var copy = self
    return copy.advance(cause)
  }

  /// Makes the next item in play order current.
  ///
  /// - Returns: the current item. With `RepeatMode.one`, an item that ended is returned again.
  ///   After the last one with `RepeatMode.all`, the first of the next round is returned, which in
  ///   a shuffled queue differs from the one just played if there is another. Nil if the queue is
  ///   over: the current item stays.
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

  /// Returns the item that `goBack()` would make current.
  public func previous() -> Item? {
    var copy = self
    return copy.goBack()
  }

  /// Makes the previous item current. In list order, it is the one before; before the first one,
  /// with `RepeatMode.all`, the last one. In a shuffled queue, it is the one played before, also in
  /// earlier rounds (up to a thousand items).
  ///
  /// - Returns: the current item; nil if there is no previous one: the current item stays.
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

  /// Makes an item current. In a shuffled queue, it moves right after the item that was current:
  /// going back leads to that one, and items not played yet play after it.
  ///
  /// - Returns: false if it is not in the queue.
  @discardableResult public mutating func jump(to id: Item.ID) -> Bool {
    guard let index = index(of: id) else { return false }
    guard index != currentIndex else { return true }
    guard let place = shuffled?.indices.firstIndex(of: index) else {
      position = index
      return true
    }
    // Removing an item before the current one moves the current one up.
    let target = place < position ? min(position, items.count - 1) : position + 1
    shuffled?.shift(from: place, to: target)
    position = target
    shuffled?.reach(position)
    return true
  }

  /// Makes the first item in play order current, with nothing played before it: restarts a queue
  /// that was played to its end. A shuffled order stays as it is.
  public mutating func rewind() {
    position = 0
    shuffled?.restart()
  }

  /// Turns shuffling on or off. On: the current item comes first, and the others in an order that
  /// is new each time. Off: the items after the current one in list order follow.
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
