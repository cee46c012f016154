// SPDX-License-Identifier: MIT
public import Foundation

extension MediaCache {
  /// Returns everything that is stored, with the parts of each group as one item, the most recently
  /// used first. Looks at every entry. Throws `MediaCacheError`, `.storage`.
  public func storedItems() async throws -> [StoredItem] {
    StoredItem.grouped(try await entries())
  }

  /// Returns what is stored of a group, by the key of its first resource, which may be missing; nil
  /// if none of its parts is stored. Looks at every entry. Throws `MediaCacheError`, `.storage`.
  public func group(_ key: CacheKey) async throws -> GroupSummary? {
    for case .group(let group) in try await storedItems() where group.key == key { return group }
    return nil
  }

  /// Removes a group: its first resource, and every part of it, as by `remove(_:)`. Only the entry
  /// under the key is removed if it is not the first of a group. Looks at every entry.
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
    let removed = try await purge(PurgeSelection(keys: [key], group: key), progress: progress)
    if let failure = removed.failures.first { throw failure }
    guard removed.entries > 0 else { return nil }
    let parts = removed.entries - (removed.resources.contains(key) ? 1 : 0)
    return RemovedGroup(freedBytes: removed.freedBytes, parts: parts)
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
}

/// The stored state of one resource.
public struct EntrySummary: Sendable, Hashable {
  public var key: CacheKey
  public var url: URL
  /// The length in bytes; nil while unknown.
  public var length: Int64?
  public var mimeType: String?
  public var validator: String?
  /// The stored ranges.
  public var spans: RangeSet<Int64>
  public var cachedBytes: Int64
  /// The disk space of the entry, in bytes of allocated blocks.
  public var allocatedBytes: Int64
  public var lastAccess: Date
  public var isComplete: Bool
  /// Whether a process has the entry open for writing.
  public var isInUse: Bool
  /// Whether the entry is pinned, and never evicted (`MediaCache.pin(_:)`).
  public var isPinned: Bool
  /// The data file; sparse while the entry is incomplete.
  public var file: URL
  /// The key of the first resource of the group of which the entry was last recorded as a part
  /// (`ResourcePolicy.Group`); nil if none is known, and for the first resource itself.
  public var group: CacheKey?
}

/// The stored state of one group (`ResourcePolicy.Group`).
public struct GroupSummary: Sendable, Hashable {
  /// The key of the first resource.
  public var key: CacheKey
  /// The first resource; nil if it is not stored any more.
  public var first: EntrySummary?
  /// The number of stored entries besides the first resource.
  public var parts = 0
  /// The stored bytes of all entries.
  public var cachedBytes: Int64 = 0
  /// The disk space of all entries, in bytes of allocated blocks.
  public var allocatedBytes: Int64 = 0
  /// The last access of any entry.
  public var lastAccess = Date.distantPast
  /// Whether a process has any entry open for writing.
  public var isInUse = false
  /// Whether every entry is pinned.
  public var isPinned = true
  /// Whether some entries are pinned, but not all.
  public var isPartlyPinned: Bool { hasPinnedEntry && !isPinned }
  private var hasPinnedEntry = false

  /// The URL of the first resource; nil if neither an entry nor its key states one.
  public var url: URL? {
    if let first { return first.url }
    return WebURL(key.rawValue) == nil ? nil : URL(string: key.rawValue)
  }

  init(_ key: CacheKey) { self.key = key }

  mutating func add(_ entry: EntrySummary) {
    // That of the key itself replaces another representation.
    let isFirst = entry.key == key || first == nil && Selection.resourceKey(of: entry.key) == key
    if !isFirst || first != nil { parts += 1 }
    if isFirst { first = entry }
    cachedBytes += entry.cachedBytes
    allocatedBytes += entry.allocatedBytes
    lastAccess = max(lastAccess, entry.lastAccess)
    isInUse = isInUse || entry.isInUse
    isPinned = isPinned && entry.isPinned
    hasPinnedEntry = hasPinnedEntry || entry.isPinned
  }
}

/// What is stored of one resource, or of one group.
public enum StoredItem: Sendable, Hashable {
  case entry(EntrySummary)
  case group(GroupSummary)

  /// Returns the parts of each group as one item, in the order of the first of them.
  package static func grouped(_ entries: [EntrySummary]) -> [StoredItem] {
    let roots = GroupRoots(entries.lazy.map { (key: $0.key, group: $0.group) })
    func root(_ entry: EntrySummary) -> CacheKey {
      roots.root(of: entry.key, group: entry.group) ?? entry.key
    }
    var groups = Dictionary(grouping: entries, by: root)
    return entries.compactMap { entry in
      guard let parts = groups.removeValue(forKey: root(entry)) else { return nil }
      var summary = GroupSummary(root(entry))
      for part in parts { summary.add(part) }
      // A first resource alone stays an entry.
      return summary.parts > 0 ? .group(summary) : .entry(entry)
    }
  }
}

/// Finds the first resource of each entry's group.
package struct GroupRoots {
  private let firsts: Set<CacheKey>

  package init(_ entries: some Sequence<(key: CacheKey, group: CacheKey?)>) {
    firsts = Set(entries.lazy.compactMap { $0.group })
  }

  package func root(of key: CacheKey, group: CacheKey?) -> CacheKey? {
    if let group { return group }
    if firsts.contains(key) { return key }
    return Selection.resourceKey(of: key).flatMap { firsts.contains($0) ? $0 : nil }
  }
}
