// SPDX-License-Identifier: MIT

/// Something that happened in a cache.
public enum CacheEvent: Sendable {
  case opened(CacheKey)
  /// A request for that range goes to the origin.
  case fetchStarted(CacheKey, ByteRange)
  /// It is over: nil where it came to its end, or was not wanted any more.
  case fetchFinished(CacheKey, ByteRange, MediaCacheError?)
  /// A request failed; the next one is sent after the delay. `failed` follows once no further request
  /// is worth sending, and bytes follow where the next one succeeds.
  case retrying(CacheKey, MediaCacheError, after: Duration)
  /// Bytes came from the origin.
  case received(CacheKey, Int)
  /// Bytes were given to a reader that were stored before it was opened.
  case servedFromDisk(CacheKey, Int)
  /// The range is readable, and stored.
  case committed(CacheKey, ByteRange)
  /// The origin has another version: the next reader begins with it.
  case generationChanged(CacheKey)
  /// Removed, as a whole or in part, to make room or because somebody asked for it.
  case evicted(CacheKey, bytes: Int64)
  /// A live stream plays something else from a byte on, or has said which station it is. Where
  /// several listen to it apart, `MediaReader.streamTitle(at:)` has what holds for each.
  case streamTitle(CacheKey, StreamTitle)
  case failed(CacheKey, MediaCacheError)
  /// Something odd that was worked around: a foreign file, a broken record, a full disk.
  case warning(String)
}
