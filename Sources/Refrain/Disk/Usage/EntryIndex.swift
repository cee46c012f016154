// SPDX-License-Identifier: MIT

struct MeasuredEntry: Sendable, Hashable {
  var name: String
  /// Seconds since 1970.
  var lastAccess: Double
  var allocatedBytes: Int64
  /// The disk space that it claims if it is pinned; nil if it is not, and may be evicted.
  var pinnedBytes: Int64?
  /// The seconds for which it stays after its last access; nil: for as long as there is room.
  var keep: Int64?
}

/// What is known of the entries, from which eviction selects. A value, filled by scans.
struct EntryIndex: Sendable {
  private var entries: [String: MeasuredEntry] = [:]
  private var pinnedBytes: Int64 = 0
  /// Of the entries that are being pinned: whoever measures them may not see their marks yet.
  var claims: [String: Int64] = [:]
  /// The keys of those that this process has open, or is opening or closing.
  var open: [String: CacheKey] = [:]
  /// The next entries to evict, the first one last. Some may have been used since, or be gone.
  private var queue: [MeasuredEntry] = []
  /// Those measured since the running scan began, by it or by others.
  private var seen: Set<String>?
  private(set) var lastScan: (ended: ContinuousClock.Instant, duration: Duration)?
  var scan: Task<Void, Never>?
  /// Why the last scan failed, or passed over a part; nil if it did not.
  private(set) var scanFailure: DiskError?
  private var newest = -Double.infinity

  var count: Int { entries.count }

  mutating func note(_ entry: MeasuredEntry) {
    var entry = entry
    entry.pinnedBytes = entry.pinnedBytes ?? claims[entry.name]
    // It may precede those that were selected. What a scan finds is considered when it ends.
    let isNews = seen == nil && entries[entry.name] != entry
    if isNews, entry.lastAccess < queue.first?.lastAccess ?? -.infinity { queue = [] }
    seen?.insert(entry.name)
    set(entry, entry.name)
    newest = max(newest, entry.lastAccess)
  }

  mutating func forget(_ name: String) { set(nil, name) }

  private mutating func set(_ entry: MeasuredEntry?, _ name: String) {
    pinnedBytes &+= (entry?.pinnedBytes ?? 0) &- (entries[name]?.pinnedBytes ?? 0)
    entries[name] = entry
  }

  /// Returns the time to record: later than every earlier access, even if the clock was set back.
  mutating func touch(_ name: String, at time: Double) -> Double {
    newest = max(time, newest + 0.001)
    entries[name]?.lastAccess = newest
    return newest
  }

  func pinnedBytes(except names: Set<String>) -> Int64 {
    names.reduce(pinnedBytes) { $0 &- (entries[$1]?.pinnedBytes ?? 0) }
  }

  /// Counts an entry that is about to be pinned; false if it does not fit into `room` beside others.
  mutating func claim(_ bytes: Int64, for name: String, within room: Int64) -> Bool {
    guard bytes <= room - pinnedBytes(except: [name]) else { return false }
    var entry = entries[name] ?? .init(name: name, lastAccess: newest, allocatedBytes: 0)
    (claims[name], entry.pinnedBytes) = (bytes, bytes)
    note(entry)
    return true
  }

  private func mayBeEvicted(_ entry: MeasuredEntry) -> Bool {
    entry.pinnedBytes == nil && open[entry.name] == nil
  }

  /// Returns the entry to evict next: one whose time is over, else the least recently used one.
  mutating func next(at time: Double, except spared: Set<String>) -> MeasuredEntry? {
    for isSelected in [false, true] {
      while let entry = queue.popLast() {
        // It was not used, shortened or removed since it was selected.
        if entries[entry.name] == entry, mayBeEvicted(entry), !spared.contains(entry.name) {
          return entry
        }
      }
      if !isSelected { queue = oldest(except: spared) + overdue(at: time) }
    }
    return nil
  }

  /// Returns the least recently used entries that may be evicted, the first one to go last.
  func oldest(_ count: Int = 1000, except spared: Set<String> = []) -> [MeasuredEntry] {
    let times = entries.values.lazy.filter { $0.pinnedBytes == nil }.map(\.lastAccess).sorted()
    // Those that are open, or spared, may be among the oldest.
    guard let last = times.prefix(count + open.count + spared.count).last else { return [] }
    return entries.values.filter { entry in
      entry.lastAccess <= last && mayBeEvicted(entry) && !spared.contains(entry.name)
    }.sorted { $0.lastAccess > $1.lastAccess }.suffix(count)
  }

  func overdue(at time: Double) -> [MeasuredEntry] {
    entries.values.filter { entry in
      guard let keep = entry.keep, mayBeEvicted(entry) else { return false }
      return entry.lastAccess + Double(keep) <= time
    }
  }

  mutating func beginScan() { seen = [] }

  /// Ends a complete scan: entries not measured since it began are gone, or cannot be evicted.
  mutating func endScan(began: ContinuousClock.Instant) {
    let found = (seen.take() ?? []).union(open.keys)
    for name in Array(entries.keys) where !found.contains(name) { forget(name) }
    lastScan = (.now, .now - began)
  }

  /// Lets another scan begin. Returns whether the failure of this one is news.
  mutating func leaveScan(_ failure: DiskError?) -> Bool {
    defer { scanFailure = failure }
    (scan, seen, queue) = (nil, nil, [])
    return failure != nil && failure?.code != scanFailure?.code
  }

  /// Whether others may have stored much since the last scan; the cheaper a scan, the sooner.
  /// `anyway`: true in any case, unless a scan takes more than two seconds.
  func isOld(_ anyway: Bool = false) -> Bool {
    guard let lastScan, !anyway || lastScan.duration > .seconds(2) else { return true }
    return .now - lastScan.ended > max(.seconds(5), lastScan.duration * 20)
  }
}
