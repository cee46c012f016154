// SPDX-License-Identifier: MIT
public import Refrain

/// A stream as one thing: its first manifest, and the playlists, segments and keys that were played
/// through a `CacheProxy` or fetched as its parts. They are a group (`ResourcePolicy.Group`).
extension MediaCache {
  /// Returns what is stored of a stream; nil if the key is not that of a first manifest, or none
  /// of its parts is stored. Looks at every entry.
  ///
  /// - Parameter key: of the first manifest, which may be missing.
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read.
  public func stream(_ key: CacheKey) async throws -> GroupSummary? {
    await mayBeManifest(key) ? try await group(key) : nil
  }

  /// Removes a stream: its first manifest, and every part of it. Entries in use are removed as by
  /// `remove(_:)`. Only the entry under the key is removed if it is no first manifest.
  ///
  /// - Parameters:
  ///   - key: of the first manifest, which may be missing.
  ///   - progress: called for each removed entry, on several threads at once.
  /// - Returns: nil if nothing was stored.
  /// - Throws: `MediaCacheError`: `.inUse` if another process is writing an entry, after the others
  ///   were removed; `.storage`; `CancellationError`, with some of the entries removed.
  @discardableResult
  public func remove(
    stream key: CacheKey, progress: (@Sendable (EntryProgress) -> Void)? = nil
  ) async throws -> RemovedGroup? {
    if await mayBeManifest(key) { return try await remove(group: key, progress: progress) }
    return try await remove(key).map { RemovedGroup(freedBytes: $0) }
  }

  /// Whether a manifest is stored under the key, or nothing that can be read.
  func mayBeManifest(_ key: CacheKey) async -> Bool {
    await mayBeDocument(key, by: StreamDocuments())
  }
}
