// SPDX-License-Identifier: MIT
import Foundation

/// Groups as one thing (`ResourcePolicy.Group`): the first resource, and the others that were used
/// as its parts.
extension MediaCache {
  /// Returns everything that is stored, with the parts of each group as one item, the most recently
  /// used first. Looks at every entry.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read.
  public func storedItems() async throws -> [StoredItem] {
    StoredItem.grouped(try await entries())
  }

  /// Returns what is stored of a group; nil if none of its parts is stored. Looks at every entry.
  ///
  /// - Parameter key: of the first resource, which may be missing.
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read.
  public func group(_ key: CacheKey) async throws -> GroupSummary? {
    for case .group(let group) in try await storedItems() where group.key == key { return group }
    return nil
  }

  /// Removes a group: its first resource, and every part of it. Entries in use are removed as by
  /// `remove(_:)`. Only the entry under the key is removed if it is not the first of a group. Looks
  /// at every entry.
  ///
  /// - Parameters:
  ///   - key: of the first resource, which may be missing.
  ///   - progress: called for each removed entry, on several threads at once.
  /// - Returns: nil if nothing was stored.
  /// - Throws: `MediaCacheError`: `.inUse` if another process is writing an entry, after the others
  ///   were removed; `.storage`; `CancellationError`, with some of the entries removed.
  @discardableResult
  public func remove(
    group key: CacheKey, progress: (@Sendable (EntryProgress) -> Void)? = nil
  ) async throws -> RemovedGroup? {
    let (removal, inspector) = (removal, inspector)
    for entry in await table.settledEntries() { await entry.recordNow() }
    let keys = try await reportingStorage { try await inspector.members(of: key) }
    let outcome = try await removal.remove(keys) {
      progress?(EntryProgress(done: $0, total: keys.count))
    }
    if let failure = outcome.failures.first { throw failure }
    if outcome.entries > 0 {
      return RemovedGroup(
        freedBytes: outcome.freedBytes, parts: outcome.entries - (keys.contains(key) ? 1 : 0))
    }
    return try await remove(key).map { RemovedGroup(freedBytes: $0) }
  }

  public struct RemovedGroup: Sendable, Hashable {
    /// The disk space freed, in bytes.
    public var freedBytes: Int64
    /// The number of removed entries besides the first resource.
    public var parts = 0

    package init(freedBytes: Int64, parts: Int = 0) {
      (self.freedBytes, self.parts) = (freedBytes, parts)
    }
  }

  /// Whether a document is stored under the key, or nothing that can be read. What was stored
  /// without rules is one if it is named so.
  package func mayBeDocument(_ key: CacheKey, by rules: any DocumentRules) async -> Bool {
    let known = table.openEntry(for: key)?.current?.withState { $0.known }
    if let known {
      let information = known.information
      return known.freshness.pace != nil
        || rules.isDocument(mimeType: information.mimeType, url: information.finalURL)
    }
    let directory = budget.entryDirectory(named: KeyHash.name(of: key))
    return await IOThreads.background.run {
      guard let record = directory.writtenRecord,
        let url = URL(string: record.finalURL)
      else { return true }
      return record.freshness.pace != nil
        || rules.isDocument(mimeType: record.mimeType, url: url)
    }
  }
}
