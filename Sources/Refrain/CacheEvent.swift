// SPDX-License-Identifier: MIT

/// Something that happened in a cache.
public enum CacheEvent: Sendable {
  case opened(CacheKey)
  /// A request for this range goes to the origin.
  case fetchStarted(CacheKey, ByteRange)
  /// The fetch of this range ended: nil if it finished, or nobody wanted the bytes any more.
  case fetchFinished(CacheKey, ByteRange, MediaCacheError?)
  /// A request failed; the next one is sent after the delay. `failed` follows once no further
  /// request is worth sending.
  case retrying(CacheKey, MediaCacheError, after: Duration)
  /// Bytes came from the origin.
  case received(CacheKey, Int)
  /// A reader received bytes that were stored before it was opened.
  case servedFromDisk(CacheKey, Int)
  /// The range is stored and readable.
  case committed(CacheKey, ByteRange)
  /// The origin has another version; the next reader begins with it.
  case generationChanged(CacheKey)
  /// Bytes were removed, all or in part, to make room or on request.
  case evicted(CacheKey, bytes: Int64)
  /// A live stream changed its title from a byte on, or named its station. If several readers
  /// play it separately, `MediaReader.streamTitle(at:)` returns the title for each.
  case streamTitle(CacheKey, StreamTitle)
  case failed(CacheKey, MediaCacheError)
  /// A problem was worked around: a foreign file, a broken record, a full disk.
  case warning(String)
}
