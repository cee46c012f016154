// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Prefetches the next item while the current one plays: its opening first, the rest when the
/// current item is stored completely; nothing while playback waits. Of a stream, these are its
/// playlists and segments.
@MainActor
struct NextPrefetcher {
  private let cache: MediaCache
  private let opening: Int64
  /// The latest prefetch, even if it has finished.
  private var running: (wish: PrefetchWish, task: Task<Void, Never>)?

  init(cache: MediaCache, opening: Int64) {
    self.cache = cache
    self.opening = opening
  }

  /// - Parameters:
  ///   - state: the player's state.
  ///   - variant: returns the variant to fetch of a stream; nil: the manifest alone, since streams
  ///     do not play through the cache.
  mutating func update(_ state: PlayerState, variant: () -> StreamOpening.Variant?) {
    let wish = PrefetchWish(of: state, after: running?.wish)
    guard wish != running?.wish else { return }
    cancel()
    guard let wish else { return }
    let (cache, limit, variant) = (cache, wish.isWhole ? nil : opening, variant())
    let task = Task<Void, Never> {
      // A failure is reported when the item is to play.
      try? await Self.fetch(wish.resource, limit, variant, into: cache)
    }
    running = (wish, task)
  }

  private nonisolated static func fetch(
    _ resource: Resource, _ limit: Int64?, _ variant: StreamOpening.Variant?,
    into cache: MediaCache
  ) async throws {
    let information = try await cache.prefetch(
      cache.possibleStream(resource), range: limit.map { 0..<$0 })
    var stream = resource
    // Playlists and segments have no titles.
    stream.headers["Icy-MetaData"] = nil
    guard let variant, await StreamDownload(stream, into: cache).mayBeStream(information) else {
      return
    }
    try await StreamOpening(cache: cache, resource: stream, variant: variant).run(limit: limit)
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
    guard !url.isFileURL, headers["Icy-MetaData"] == nil, !StreamLookup.isNamed(self) else {
      return self
    }
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
