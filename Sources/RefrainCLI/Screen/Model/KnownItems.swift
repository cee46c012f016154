// SPDX-License-Identifier: MIT
import Refrain
import RefrainPlayer

/// Facts about an item of the queue, learned while it was played or looked up.
struct KnownItem: Sendable, Hashable {
  var title: String?
  var artist: String?
  var album: String?
  var duration: Duration?
  /// The stored part, 0…1.
  var cached: Double?
  var hasFailed = false
  /// The reason of the last failed request that is sent again; nil once bytes come.
  var trouble: String?
}

/// The known facts about the items of a queue. A pure value.
///
/// Relies on events only: when they are handled, the player may be at another item already.
struct KnownItems: Sendable {
  private(set) var items: [PlayQueue.Item.ID: KnownItem] = [:]
  /// Grows with each change.
  private(set) var version = 0
  /// The item last reported as current.
  private var current: PlayQueue.Item.ID?

  mutating func note(_ event: PlayerEvent) {
    switch event {
    case .item(let item): current = item?.id
    case .failed(let item, _): change(item.id) { $0.hasFailed = true }
    case .started(let item, _): change(item.id) { ($0.hasFailed, $0.trouble) = (false, nil) }
    case .status(.playing), .status(.paused): change { $0.trouble = nil }
    case .metadata(let metadata):
      change { known in
        if let title = metadata.title, !title.isEmpty { known.title = title }
        if let artist = metadata.artist, !artist.isEmpty { known.artist = artist }
        if let album = metadata.album, !album.isEmpty { known.album = album }
      }
    case .duration(let duration?): change { $0.duration = duration }
    case .cached(let progress?): change { $0.cached = progress.fraction }
    case .streamProgress(let progress?): change { $0.cached = progress.fraction }
    default: break
    }
  }

  mutating func note(cached: Double?, of id: PlayQueue.Item.ID) {
    change(id) { $0.cached = cached }
  }

  mutating func note(trouble: String, of id: PlayQueue.Item.ID) {
    change(id) { $0.trouble = trouble }
  }

  private mutating func change(_ body: (inout KnownItem) -> Void) {
    if let current { change(current, body) }
  }

  private mutating func change(_ id: PlayQueue.Item.ID, _ body: (inout KnownItem) -> Void) {
    let before = items[id] ?? KnownItem()
    var after = before
    body(&after)
    guard after != before else { return }
    items[id] = after
    version += 1
  }
}
