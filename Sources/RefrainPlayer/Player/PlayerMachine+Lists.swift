// SPDX-License-Identifier: MIT
import Refrain

extension PlayerMachine {
  /// Replaces the current item, which turned out to be a list, by the media that it lists, and loads
  /// the one that takes its place.
  ///
  /// - Parameters:
  ///   - id: the item as the engine knows it; if it is not the current one any more, nothing changes.
  ///   - media: not empty.
  ///   - failure: why the engine could not play the list. An item that was heard is none, whatever
  ///     its origin sends now: it fails with this error.
  mutating func expand(
    _ id: EngineItem.ID, into media: [Media], after failure: MediaCacheError
  ) -> [PlayerAction] {
    guard id == engineItem, let item = state.item, let index = state.queue.currentIndex else {
      return []
    }
    var actions: [PlayerAction] = []
    let others = state.queue.items.count - 1
    let error: MediaCacheError? =
      isHeard ? failure : item.media.refusal(ofListing: media.count, beside: others)
    if let error {
      fail(error, &actions)
    } else {
      // What was asked for the list is meant for what plays first of it.
      let start = beginsAtMark ? nil : beginning
      var queue = state.queue
      queue.expand(item.id, into: item.media.listing(media))
      if let first = queue.currentIndex {
        queue.items[first].media.subtitles += item.media.subtitles
      }
      let added = Array(queue.items[index..<(index + media.count)])
      actions.append(.tell(.expanded(item, into: added)))
      leave(&actions)
      state.queue = queue
      loadCurrent(at: start, &actions)
      if let start { (beginning, beginsAtMark) = (start, false) }
    }
    settle(&actions)
    return actions
  }
}
