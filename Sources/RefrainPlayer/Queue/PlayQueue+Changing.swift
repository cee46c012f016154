// SPDX-License-Identifier: MIT

extension PlayQueue {
  /// Replaces all items. A shuffled queue stays shuffled, and the repeat mode stays.
  ///
  /// - Parameters:
  ///   - media: the media of the new items.
  ///   - index: the index of the item that becomes current, limited to the valid range. In a
  ///     shuffled queue it plays first, and the others in a new order.
  @discardableResult public mutating func replace(
    with media: [Media], startingAt index: Int = 0
  ) -> [Item.ID] {
    items = makeItems(media)
    let chosen = items.isEmpty ? nil : min(max(index, 0), items.count - 1)
    position = isShuffled ? 0 : chosen ?? 0
    if isShuffled {
      shuffled = ShuffledOrder(count: items.count, first: chosen, using: &generator)
    }
    return items.map(\.id)
  }

  /// Appends media to the list. In a shuffled queue, they play among the items not played yet.
  @discardableResult public mutating func append(_ media: [Media]) -> [Item.ID] {
    insert(media, at: items.count)
  }

  /// Inserts media right after the current item, both in the list and in play order, in the given
  /// order; at the end if nothing is current.
  @discardableResult public mutating func insertNext(_ media: [Media]) -> [Item.ID] {
    let isCurrent = current != nil
    let index = currentIndex.map { $0 + 1 } ?? items.count
    let added = makeItems(media)
    items.insert(contentsOf: added, at: index)
    shuffled?.insert(added.count, at: index, playingAt: isCurrent ? position + 1 : position)
    return added.map(\.id)
  }

  /// Inserts media at `index` of the list, limited to the valid range. In a shuffled queue, they
  /// play among the items not played yet.
  @discardableResult public mutating func insert(
    _ media: [Media], at index: Int
  ) -> [Item.ID] {
    let index = min(max(index, 0), items.count)
    let isCurrent = current != nil
    let added = makeItems(media)
    items.insert(contentsOf: added, at: index)
    if isShuffled {
      shuffled?.shuffleIn(added.count, at: index, using: &generator)
      shuffled?.reach(position)
    } else if index < position || (index == position && isCurrent) {
      position += added.count
    }
    return added.map(\.id)
  }

  /// Removes an item. If it is the current one, the item that `next(.asked)` returns becomes
  /// current. If there is none (the last one in play order was removed, and the queue does not
  /// repeat all), nothing is current.
  ///
  /// - Returns: false if it is not in the queue.
  @discardableResult public mutating func remove(_ id: Item.ID) -> Bool {
    guard let removed = index(of: id) else { return false }
    if removed == currentIndex {
      let following = advance(.asked)
      if following == nil || following?.id == id { position = items.count }
    }
    let place = shuffled == nil ? removed : shuffled?.remove(removed)
    items.remove(at: removed)
    if let place, place < position { position -= 1 }
    return true
  }

  /// Replaces an item, a list, by the media that it lists, in its place and in their order. If it is
  /// the current one, the first of them becomes current. In a shuffled queue, one of them at random
  /// takes its place in play order, and the others play among the items not played yet.
  ///
  /// - Returns: the ids of the new items; empty if the item is not in the queue, or lists nothing:
  ///   then nothing has changed.
  @discardableResult mutating func expand(_ id: Item.ID, into media: [Media]) -> [Item.ID] {
    guard !media.isEmpty, let index = index(of: id) else { return [] }
    let added = makeItems(media)
    items.replaceSubrange(index...index, with: added)
    if isShuffled {
      let chosen = Int.random(in: 0..<added.count, using: &generator)
      shuffled?.shuffleIn(chosen, at: index, using: &generator)
      shuffled?.shuffleIn(added.count - 1 - chosen, at: index + chosen + 1, using: &generator)
    } else if index < position {
      position += added.count - 1
    }
    return added.map(\.id)
  }

  /// Moves an item to `index`, its own index afterwards, limited to the valid range. The current
  /// item stays current. The play order follows the list, unless the queue is shuffled: a shuffled
  /// order stays as it is.
  ///
  /// - Returns: false if it is not in the queue.
  @discardableResult public mutating func move(_ id: Item.ID, to index: Int) -> Bool {
    guard let source = self.index(of: id) else { return false }
    let target = min(max(index, 0), items.count - 1)
    items.insert(items.remove(at: source), at: target)
    if isShuffled {
      shuffled?.renumber(movedFrom: source, to: target)
    } else if position == source {
      position = target
    } else if source < position, position <= target {
      position -= 1
    } else if target <= position, position < source {
      position += 1
    }
    return true
  }

  /// Removes all items. A shuffled queue stays shuffled, and the repeat mode stays.
  public mutating func removeAll() {
    replace(with: [])
  }

  private mutating func makeItems(_ media: [Media]) -> [Item] {
    media.map { media in
      defer { nextID += 1 }
      return Item(id: Item.ID(rawValue: nextID), media: media)
    }
  }
}
