// SPDX-License-Identifier: MIT
public import Foundation

/// For URLs that need neither headers nor an explicit key.
extension MediaCache {
  /// Returns a reader of the resource at this URL; see `open(_:fill:)`.
  public func open(_ url: URL, fill: FillPolicy? = nil) async throws -> MediaReader {
    try await open(Resource(url: url), fill: fill)
  }

  /// Prefetches the resource at this URL; see `prefetch(_:range:progress:)`.
  @discardableResult
  public func prefetch(
    _ url: URL, range: ByteRange? = nil,
    progress: (@Sendable (PrefetchProgress) -> Void)? = nil
  ) async throws -> ContentInformation {
    try await prefetch(Resource(url: url), range: range, progress: progress)
  }

  /// Returns how much of the resource at this URL is stored; see `progress(of:)`.
  public func progress(of url: URL) async throws -> CacheProgress {
    try await progress(of: Resource(url: url))
  }

  /// Returns the progress of the resource at this URL after each change.
  public func progressUpdates(of url: URL) -> AsyncStream<CacheProgress> {
    progressUpdates(of: Resource(url: url))
  }

  /// Returns the entry of the resource at this URL; see `entry(for:)`.
  public func entry(for url: URL) async throws -> EntrySummary? {
    try await entry(for: Resource(url: url))
  }

  /// Returns the media file of the resource at this URL if all of it is stored.
  public func completeFile(for url: URL) async throws -> URL? {
    try await completeFile(for: Resource(url: url))
  }

  /// Pins the resource at this URL; see `pin(_:)`.
  public func pin(_ url: URL) async throws { try await pin(Resource(url: url)) }

  /// Removes the pin of the resource at this URL; see `unpin(_:)`.
  @discardableResult
  public func unpin(_ url: URL) async throws -> Bool { try await unpin(Resource(url: url)) }

  /// Removes what is stored of the resource at this URL; see `remove(_:)`.
  @discardableResult
  public func remove(_ url: URL) async throws -> Int64? {
    try await remove(Resource(url: url))
  }
}

/// For keys, as `entries()` lists them.
extension MediaCache {
  /// Returns a reader of a stored entry; see `open(_:fill:)`. Missing bytes are requested from the
  /// URL of the entry, without headers.
  ///
  /// - Throws: `MediaCacheError`, `.badURL` if nothing is stored under the key.
  public func open(_ key: CacheKey, fill: FillPolicy? = nil) async throws -> MediaReader {
    let (resource, terms) = try await stored(key)
    return try await open(resource, on: terms, fill: fill)
  }

  /// Prefetches the rest of a stored entry, as `open(_:fill:)` requests it and throws; see
  /// `prefetch(_:range:progress:)`.
  @discardableResult
  public func prefetch(
    _ key: CacheKey, range: ByteRange? = nil,
    progress: (@Sendable (PrefetchProgress) -> Void)? = nil
  ) async throws -> ContentInformation {
    let (resource, terms) = try await stored(key)
    return try await prefetch(resource, on: terms, range, progress)
  }

  private func stored(_ key: CacheKey) async throws -> (Resource, ReadTerms) {
    guard let entry = try await entry(for: key) else {
      throw MediaCacheError(
        .badURL, "Nothing is stored under the key \(key), so its URL is unknown.",
        remedy: "Open the resource by its URL.")
    }
    var terms = ReadTerms()
    terms.namesEntry = true
    return (Resource(url: entry.url, key: key), terms)
  }
}
