// SPDX-License-Identifier: MIT
import Foundation
import RefrainPlayer

extension Media {
  /// Returns a media that has only a name.
  static func named(_ name: String) -> Media {
    Media(URL(fileURLWithPath: "/music/\(name).mp3"), title: name)
  }
}

extension PlayQueue {
  /// Returns a queue of media named by single letters: "abc" is three.
  static func of(
    _ names: String, startingAt index: Int = 0, repeating: RepeatMode = .off,
    shuffled: Bool = false,
    seed: UInt64 = 7
  ) -> PlayQueue {
    var queue = PlayQueue(seed: seed)
    queue.repeatMode = repeating
    queue.setShuffled(shuffled)
    queue.replace(with: names.media, startingAt: index)
    return queue
  }

  var names: String { items.names }
  var orderNames: String { playOrder.names }
  var currentName: String? { current?.media.title }

  func id(_ name: String) -> Item.ID? { items.first { $0.media.title == name }?.id }

  /// Returns the names of the next items, the current one first, until the queue is over or `limit`
  /// is reached.
  func names(played limit: Int) -> String {
    var copy = self
    var played = copy.currentName ?? ""
    while played.count < limit, let item = copy.advance(.ended) {
      played += item.media.title ?? "?"
    }
    return played
  }
}

extension [PlayQueue.Item] {
  var names: String { compactMap(\.media.title).joined() }
}

extension String {
  var media: [Media] { map { .named(String($0)) } }
}
