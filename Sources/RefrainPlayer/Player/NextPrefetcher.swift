// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Prefetches the next item while the current one plays: its opening first, the rest when the
/// current item is stored completely; nothing while playback waits. Of a stream, these are its
/// playlists and segments.
@MainActor
struct NextPrefetcher {
  private let cache: MediaCache
  private let streams: (any StreamSupport)?
  private let opening: Int64
  /// The latest prefetch, even if it has finished.
  private(set) var running: (wish: PrefetchWish, task: Task<Void, Never>)?

  /// - Parameter streams: fetches those that follow; nil: of these, the manifest alone is fetched.
  init(cache: MediaCache, streams: (any StreamSupport)?, opening: Int64) {
    (self.cache, self.streams, self.opening) = (cache, streams, opening)
  }

  /// - Parameters:
  ///   - state: the player's state.
  ///   - variant: returns the variant to fetch of a stream.
  mutating func update(_ state: PlayerState, variant: () -> PreferredVariant) {
    let wish = PrefetchWish(of: state, after: running?.wish)
    guard wish != running?.wish else { return }
    cancel()
    guard let wish else { return }
    let (cache, streams, variant) = (cache, streams, variant())
    let limit = wish.isWhole ? nil : opening
    let task = Task<Void, Never> {
      // A failure is reported when the item is to play.
      if let streams {
        try? await streams.prefetch(wish.resource, variant, limit: limit, into: cache)
      } else {
        _ = try? await cache.prefetch(wish.resource, range: limit.map { 0..<$0 })
      }
    }
    running = (wish, task)
  }

  mutating func cancel() {
    running?.task.cancel()
    running = nil
  }
}

/// The prefetch that a player's state calls for. A pure value.
struct PrefetchWish: Sendable, Hashable {
  var resource: Resource
  /// Whether the whole resource is fetched, or only its opening.
  var isWhole: Bool

  /// - Parameter running: the current prefetch, which continues until playback waits.
  init?(of state: PlayerState, after running: PrefetchWish? = nil) {
    switch state.status {
    case .playing, .paused: break
    case .idle, .loading, .buffering, .ended, .failed: return nil
    }
    guard let item = state.item, let next = state.queue.next(.ended), next.id != item.id,
      let resource = next.media.asEngineMedia.resource
    else { return nil }
    let isWhole =
      item.media.url.isFileURL || state.cacheProgress?.isComplete == true
      || state.streamProgress?.isComplete == true
    guard isWhole || state.isBufferedAhead || running?.resource == resource else { return nil }
    self.resource = resource
    self.isWhole = isWhole
  }
}

extension PlayerState {
  /// Whether enough of the current item is buffered ahead that another one may be fetched.
  fileprivate var isBufferedAhead: Bool {
    bufferedRanges.contains { range in
      range.contains(position) && range.upperBound - position >= .seconds(5)
    }
  }
}

extension Media {
  /// The media as an engine receives it, with a header that requests a live stream's titles
  /// (`Icy-MetaData`); a manifest has none.
  var asEngineMedia: Media {
    guard !url.isFileURL, headers["Icy-MetaData"] == nil, !isNamedStream else { return self }
    var media = self
    media.headers.append("Icy-MetaData", "1")
    return media
  }
}

extension EngineItem {
  var askingForTitles: EngineItem {
    var item = self
    if streamURL == nil { item.media = media.asEngineMedia }
    return item
  }
}
