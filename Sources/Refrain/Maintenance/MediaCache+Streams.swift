// SPDX-License-Identifier: MIT
import Foundation

/// A stream as one thing: its first manifest, and the playlists, segments and keys that were played
/// through a `CacheProxy` or fetched as its parts.
extension MediaCache {
  /// Returns everything that is stored, with the parts of each stream as one item, the most
  /// recently used first. Looks at every entry.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read.
  public func storedItems() async throws -> [StoredItem] {
    StoredItem.grouped(try await entries())
  }

  /// Returns what is stored of a stream; nil if the key is not that of a first manifest, or none
  /// of its parts is stored. Looks at every entry.
  ///
  /// - Parameter key: of the first manifest, which may be missing.
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read.
  public func stream(_ key: CacheKey) async throws -> StreamSummary? {
    guard try await mayHaveParts(key) else { return nil }
    for case .stream(let stream) in try await storedItems() where stream.key == key {
      return stream
    }
    return nil
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
  ) async throws -> RemovedStream? {
    let removal = Removal(context: context)
    if try await mayHaveParts(key),
      let removed = try await removal.removeStream(key, EntryProgress.sweep(progress))
    {
      return removed
    }
    return try await removal.removeAllRepresentations(key).map { RemovedStream(freedBytes: $0) }
  }

  public struct RemovedStream: Sendable, Hashable {
    /// The disk space freed, in bytes.
    public var freedBytes: Int64
    /// The number of removed entries besides the first manifest.
    public var parts = 0
  }

  /// Whether the key may be that of the first manifest of a stream, by the URL after redirects too.
  /// Otherwise no other entry needs to be looked at.
  func mayHaveParts(_ key: CacheKey) async throws -> Bool {
    guard let entry = try await entry(for: key) else { return true }
    if Manifest.isNamed(mimeType: entry.mimeType, url: entry.url) { return true }
    if Manifest.mayBeUnnamed(mimeType: entry.mimeType, length: entry.length),
      let stored = await storedManifest(for: key), Manifest.isShown(by: stored.body)
    {
      return true
    }
    let directory = context.budget.entryDirectory(named: KeyHash.name(of: key))
    return await IOThreads.background.run {
      guard let record = try? directory.loadRecord().record, let url = URL(string: record.finalURL)
      else { return true }
      return Manifest.isNamed(mimeType: record.mimeType, url: url)
    }
  }
}
