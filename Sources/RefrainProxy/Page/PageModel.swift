// SPDX-License-Identifier: MIT
import Refrain

/// The rows of the page. A pure value: no clock, no I/O.
struct PageModel: Sendable {
  private(set) var rows: [CacheKey: PageRow] = [:]
  private var entries: [CacheKey: PageEntry] = [:]
  private var open: Set<CacheKey> = []
  private var downloads: [CacheKey: PageDownloads.Item] = [:]
  /// The row of each entry that belongs to a stream.
  private var roots: [CacheKey: CacheKey] = [:]
  /// The entries of each stream.
  private var members: [CacheKey: [CacheKey]] = [:]
  /// The entries and downloads that have changed since `update()`.
  private var touched: Set<CacheKey> = []
  /// Whether entries may belong to other streams than they did.
  private var isRegrouping = false

  /// Returns the keys of all entries of a row.
  func keys(ofRow key: CacheKey) -> [CacheKey] {
    members[key] ?? (entries[key] == nil ? [] : [key])
  }

  // MARK: Changing

  private mutating func set(_ entry: PageEntry?, at key: CacheKey) {
    let old = entries[key]
    guard old != entry else { return }
    entries[key] = entry
    touched.insert(key)
    let isSame = old?.stream == entry?.stream && (old == nil) == (entry == nil)
    let hasStreams = !roots.isEmpty || entry?.stream != nil
    if !isSame, hasStreams { isRegrouping = true }
  }

  /// Adopts what was found of entries.
  mutating func store(_ found: [EntrySummary], missing: [CacheKey] = []) {
    for summary in found {
      var entry = entries[summary.key] ?? PageEntry()
      entry.summary = summary
      if !open.contains(summary.key) { entry.activity = nil }
      set(entry, at: summary.key)
    }
    for key in missing {
      var entry = open.contains(key) ? entries[key] : nil
      entry?.summary = nil
      set(entry, at: key)
    }
  }

  /// Adopts a look at the whole directory.
  ///
  /// - Returns: the entries that were not found. They may be newer than the look.
  mutating func storeAll(_ found: [EntrySummary]) -> Set<CacheKey> {
    store(found)
    return Set(entries.keys).subtracting(found.map(\.key))
  }

  /// Adopts what is going on.
  ///
  /// - Parameter rates: in bytes per second.
  /// - Returns: the entries that are not open any more. What was last known of them stays until they
  ///   are stored or missing.
  mutating func follow(
    _ activities: [EntryActivity], rates: [CacheKey: Int64]
  ) -> Set<CacheKey> {
    let before = open
    open = []
    for activity in activities {
      // Nothing is shown of what may never be stored.
      if entries[activity.key] == nil, activity.spans.isEmpty, activity.fetching.isEmpty {
        continue
      }
      open.insert(activity.key)
      var entry = entries[activity.key] ?? PageEntry()
      (entry.activity, entry.rate) = (activity, rates[activity.key] ?? 0)
      set(entry, at: activity.key)
    }
    let closed = before.subtracting(open)
    for key in closed {
      guard var entry = entries[key] else { continue }
      entry.activity?.fetching = []
      entry.activity?.readers = []
      entry.rate = 0
      set(entry, at: key)
    }
    return closed
  }

  mutating func follow(_ now: [CacheKey: PageDownloads.Item]) {
    for key in Set(downloads.keys).union(now.keys) where downloads[key] != now[key] {
      touched.insert(key)
    }
    downloads = now
  }

  // MARK: Rows

  /// Brings the rows up to date.
  ///
  /// - Returns: the keys of the rows that have changed, appeared or gone.
  mutating func update() -> Set<CacheKey> {
    var due = touched.union(touched.compactMap { roots[$0] })
    if isRegrouping {
      regroup()
      due = Set(entries.keys).union(rows.keys).union(members.keys).union(touched)
    }
    touched = []
    isRegrouping = false
    var changed: Set<CacheKey> = []
    for key in due {
      let row = row(key)
      guard rows[key] != row else { continue }
      rows[key] = row
      changed.insert(key)
    }
    return changed
  }

  /// Finds the stream of each entry.
  private mutating func regroup() {
    let all = entries.map { (key: $0.key, stream: $0.value.stream) }
    let found = GroupRoots(all) {
      $0.key
    } group: {
      $0.stream
    }
    (roots, members) = ([:], [:])
    for (key, stream) in all {
      guard let root = found.root(of: key, group: stream) else { continue }
      roots[key] = root
      members[root, default: []].append(key)
    }
    // A manifest alone stays an entry.
    for (root, keys) in members where keys == [root] {
      (roots[root], members[root]) = (nil, nil)
    }
  }

  private func row(_ key: CacheKey) -> PageRow? {
    let download = downloads[key]
    if let keys = members[key] {
      let parts = keys.filter { $0 != key }.compactMap { entries[$0] }
      return PageRow(key, entries[key], parts: parts, download: download)
    }
    // A part of a stream has no row of its own.
    let isShown = roots[key] == nil && entries[key] != nil
    return isShown || download != nil ? PageRow(key, entries[key], download: download) : nil
  }
}
