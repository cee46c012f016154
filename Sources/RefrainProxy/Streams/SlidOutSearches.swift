// SPDX-License-Identifier: MIT
import Refrain

/// Decides for which streams to search the cache for segments that slid out before: unseen by this
/// process, or while nobody requested the playlist. A pure value, given each version of a live
/// playlist.
struct SlidOutSearches: Sendable {
  struct Search: Sendable, Hashable {
    /// The keys of first manifests.
    var streams: Set<CacheKey>
    /// How long a part is kept after its last use, in seconds.
    var grace: Double
    var attempts = 0
  }

  private static let mostStreams = 1024
  /// A stream is searched again after so many seconds without a version of its playlists.
  private static let patience: Double = 3600
  /// A search reads every record: those of all streams that come meanwhile are one.
  private static let secondsBetween: Double = 60
  private static let mostAttempts = 3

  private var pending: [Search] = []
  /// When a version of each stream's playlists was noted last.
  private var noted: [CacheKey: Double] = [:]
  private var nextTime = -Double.infinity

  /// - Parameter time: in seconds, since any time.
  mutating func note(_ version: SlidOutSegments.Version, grace: Double, at time: Double) {
    // A playlist that does not name all that it has gives nothing up.
    guard !version.keepsAll, version.namesAll, version.skippedSegments == 0,
      !version.streams.isEmpty
    else { return }
    let isKnown = version.streams.contains { noted[$0].map { $0 > time - Self.patience } ?? false }
    if noted.count + version.streams.count > Self.mostStreams {
      noted = noted.filter { $0.value > time - Self.patience }
      // Of more streams, the segments that slid out before are evicted in the usual order.
      if noted.count + version.streams.count > Self.mostStreams { return }
    }
    for stream in version.streams { noted[stream] = time }
    if !isKnown { pending.append(Search(streams: version.streams, grace: grace)) }
  }

  /// Repeats a search that could not read a playlist, which may just be arriving.
  mutating func repeatLater(_ search: Search) {
    var search = search
    search.attempts += 1
    if search.attempts < Self.mostAttempts { pending.append(search) }
  }

  /// Removes and returns the searches to make now, at once; none if the last ones were just made.
  mutating func take(at time: Double) -> [Search] {
    guard !pending.isEmpty, time >= nextTime else { return [] }
    nextTime = time + Self.secondsBetween
    defer { pending = [] }
    return pending
  }
}
