// SPDX-License-Identifier: MIT
public import Foundation

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
  /// The key of the first resource of the group as a part of which the entry was last recorded
  /// (`ResourcePolicy.Group`); nil if none is known. Nil, too, for the first resource itself.
  public var group: CacheKey?
}

/// The stored state of one group (`ResourcePolicy.Group`): its first resource, and the others that
/// were used as its parts.
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
  public var lastAccess: Date
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

  init(_ key: CacheKey, lastAccess: Date) {
    (self.key, self.lastAccess) = (key, lastAccess)
  }

  mutating func add(_ entry: EntrySummary) {
    parts += 1
    if entry.key == key {
      // It replaces another representation.
      if first == nil { parts -= 1 }
      first = entry
    } else if first == nil, Selection.resourceKey(of: entry.key) == key {
      parts -= 1
      first = entry
    }
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

  /// Returns entries with those of a group as one item, in the order of the first entry of each.
  /// Takes time linear in their number.
  package static func grouped(_ entries: [EntrySummary]) -> [StoredItem] {
    let roots = GroupRoots(entries) {
      $0.key
    } group: {
      $0.group
    }
    var items: [StoredItem] = []
    items.reserveCapacity(roots.isEmpty ? entries.count : 0)
    var groups: [CacheKey: (item: Int, summary: GroupSummary)] = [:]
    for entry in entries {
      guard let root = roots.root(of: entry.key, group: entry.group) else {
        items.append(.entry(entry))
        continue
      }
      if groups[root] == nil {
        groups[root] = (items.count, GroupSummary(root, lastAccess: entry.lastAccess))
        items.append(.entry(entry))
      }
      groups[root]?.summary.add(entry)
    }
    // A first resource alone stays an entry.
    for (item, summary) in groups.values where summary.parts > 0 { items[item] = .group(summary) }
    return items
  }
}
