// SPDX-License-Identifier: MIT
public import Foundation

/// The stored state of one stream: its first manifest, and the playlists, segments and keys that
/// were played or fetched under it.
public struct StreamSummary: Sendable, Hashable {
  /// The key of the first manifest.
  public var key: CacheKey
  /// The first manifest; nil if it is not stored any more.
  public var manifest: EntrySummary?
  /// The number of stored entries besides the first manifest.
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

  /// The URL of the first manifest; nil if neither an entry nor its key states one.
  public var url: URL? {
    if let manifest { return manifest.url }
    return WebURL(key.rawValue) == nil ? nil : URL(string: key.rawValue)
  }

  init(_ key: CacheKey, lastAccess: Date) {
    (self.key, self.lastAccess) = (key, lastAccess)
  }

  mutating func add(_ entry: EntrySummary) {
    parts += 1
    if entry.key == key {
      // It replaces another representation.
      if manifest == nil { parts -= 1 }
      manifest = entry
    } else if manifest == nil, Selection.resourceKey(of: entry.key) == key {
      parts -= 1
      manifest = entry
    }
    cachedBytes += entry.cachedBytes
    allocatedBytes += entry.allocatedBytes
    lastAccess = max(lastAccess, entry.lastAccess)
    isInUse = isInUse || entry.isInUse
    isPinned = isPinned && entry.isPinned
    hasPinnedEntry = hasPinnedEntry || entry.isPinned
  }
}

/// What is stored of one resource, or of one stream.
public enum StoredItem: Sendable, Hashable {
  case entry(EntrySummary)
  case stream(StreamSummary)

  /// Returns entries with those of a stream as one item, in the order of the first entry of each.
  /// Takes time linear in their number.
  package static func grouped(_ entries: [EntrySummary]) -> [StoredItem] {
    let roots = StreamRoots(entries) {
      $0.key
    } stream: {
      $0.stream
    }
    var items: [StoredItem] = []
    items.reserveCapacity(roots.isEmpty ? entries.count : 0)
    var streams: [StreamSummary] = []
    /// The index in `items` and in `streams`.
    var places: [CacheKey: (item: Int, stream: Int)] = [:]
    // The entries of a stream often follow each other.
    var last: (stream: CacheKey, place: Int)?
    for entry in entries {
      if let last, last.stream == entry.stream, entry.key != last.stream {
        streams[last.place].add(entry)
        continue
      }
      guard let root = roots.root(of: entry.key, stream: entry.stream) else {
        items.append(.entry(entry))
        continue
      }
      let place = places[root] ?? (items.count, streams.count)
      if place.stream == streams.count {
        places[root] = place
        streams.append(StreamSummary(root, lastAccess: entry.lastAccess))
        items.append(.entry(entry))
      }
      streams[place.stream].add(entry)
      last = entry.stream.map { ($0, place.stream) }
    }
    // A manifest alone stays an entry.
    for place in places.values where streams[place.stream].parts > 0 {
      items[place.item] = .stream(streams[place.stream])
    }
    return items
  }
}
