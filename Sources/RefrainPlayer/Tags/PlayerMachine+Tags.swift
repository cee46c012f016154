// SPDX-License-Identifier: MIT

/// The tags of the items of the queue.
extension PlayerMachine {
  /// Takes over tags that were looked up. An item that has played keeps its own.
  mutating func note(_ found: TagReader.Found) -> [PlayerAction] {
    let found = Dictionary(found.map { ($0.item.id, $0) }) { _, last in last }
    // Some may have left the queue meanwhile.
    let items = state.queue.items.filter { found[$0.id]?.item == $0 }
    var actions: [PlayerAction] = []
    for item in items where state.itemTags[item.id] == nil {
      guard let tags = found[item.id]?.tags else { continue }
      state.itemTags[item.id] = tags
      actions.append(.tell(.tags(item, tags)))
    }
    if state.itemTags.count > state.queue.items.count {
      let left = Set(state.queue.items.map(\.id))
      state.itemTags = state.itemTags.filter { left.contains($0.key) }
    }
    return actions
  }

  /// Keeps the current item's own tags for the time after it.
  mutating func keepTags() {
    guard let item = state.item, !state.isLive else { return }
    let own = MediaMetadata(title: tags.title, artist: tags.artist, album: tags.album)
    if own != MediaMetadata() { state.itemTags[item.id] = own }
  }
}

extension PlayerState {
  /// Returns the title, the artist and the album of an item that is not the current one: as a
  /// playlist or the app states them, otherwise as its tags do.
  package func description(of item: PlayQueue.Item) -> MediaMetadata {
    let (media, tags) = (item.media, itemTags[item.id])
    return MediaMetadata(
      title: media.title ?? tags?.title, artist: media.artist ?? tags?.artist,
      album: media.album ?? tags?.album)
  }
}
