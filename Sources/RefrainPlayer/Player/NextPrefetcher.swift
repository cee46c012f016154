// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Fetches the item that plays next while the current one plays: its opening first, the rest when all
/// of the current one is there; nothing while the current one is waited for.
@MainActor
struct NextPrefetcher {
  private let cache: MediaCache
  private let opening: Int64
  /// The last one, also when it is done.
  private var running: (wish: PrefetchWish, task: Task<Void, Never>)?

  init(cache: MediaCache, opening: Int64) {
    self.cache = cache
    self.opening = opening
  }

  mutating func update(_ state: PlayerState) {
    let wish = PrefetchWish(of: state, after: running?.wish)
    guard wish != running?.wish else { return }
    cancel()
    guard let wish else { return }
    let (cache, range) = (cache, wish.isWhole ? nil : 0..<opening)
    let task = Task {
      // What cannot be fetched now is told when it is to play.
      _ = try? await cache.prefetch(wish.resource, range: range)
    }
    running = (wish, task)
  }

  mutating func cancel() {
    running?.task.cancel()
    running = nil
  }
}

/// What is to be fetched before it plays. A pure value.
struct PrefetchWish: Sendable, Hashable {
  var resource: Resource
  /// All of it, or its opening only.
  var isWhole: Bool

  /// How far ahead of the position the current item has to be decodable for it to begin.
  private static let margin = Duration.seconds(5)

  /// - Parameter running: what is fetched already: it goes on until the current item is waited for.
  init?(of state: PlayerState, after running: PrefetchWish? = nil) {
    switch state.status {
    case .playing, .paused: break
    case .idle, .loading, .buffering, .ended, .failed: return nil
    }
    guard let item = state.item, let next = state.queue.next(.ended), next.id != item.id,
      let resource = next.media.asEngineMedia.resource
    else { return nil }
    let isWhole = item.media.url.isFileURL || state.cacheProgress?.isComplete == true
    let isAhead = state.bufferedRanges.contains { range in
      range.contains(state.position) && range.upperBound - state.position >= Self.margin
    }
    guard isWhole || isAhead || running?.resource == resource else { return nil }
    self.resource = resource
    self.isWhole = isWhole
  }
}

extension Media {
  /// As an engine is given it: a live stream is asked for its titles (`Icy-MetaData`).
  var asEngineMedia: Media {
    guard !url.isFileURL, headers["Icy-MetaData"] == nil else { return self }
    var media = self
    media.headers.append("Icy-MetaData", "1")
    return media
  }
}

extension EngineItem {
  var askingForTitles: EngineItem {
    var item = self
    item.media = media.asEngineMedia
    return item
  }
}
