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

  static func isNewer(_ left: Self, _ right: Self) -> Bool {
    (left.lastAccess, left.name) > (right.lastAccess, right.name)
  }
}

/// The known sizes and last accesses of entries, from which eviction selects. A value, filled by
/// scans in the background.
struct EntryIndex: Sendable {
  private var entries: [String: MeasuredEntry] = [:]
  private var pinnedBytes: Int64 = 0
  /// The keys of those that this process has open.
  private var open: [String: CacheKey] = [:]
  /// The next entries to evict, the first one last. Some may have been used since, or be gone.
  private var queue: [MeasuredEntry] = []
  /// Those measured since the running scan began, by it or by others.
  private var seen: Set<String>?
  private(set) var lastScan: (ended: ContinuousClock.Instant, duration: Duration)?
  var scan: Task<Void, Never>?
  /// Why the last scan failed, or passed over a part; nil if it did not.
  var scanFailure: DiskError?
  /// The latest known time of access.
  private var newest = -Double.infinity

  // MARK: Entries

  var count: Int { entries.count }

  /// Whether a scan has begun: what changes since has to be noted.
  var isFollowed: Bool { seen != nil || lastScan != nil }

  mutating func note(_ entry: MeasuredEntry) {
    seen?.insert(entry.name)
    set(entry, entry.name)
    newest = max(newest, entry.lastAccess)
    // It may precede those that were selected. What a scan finds is considered when it ends.
    if seen == nil, let last = queue.first, MeasuredEntry.isNewer(last, entry) { queue = [] }
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

  mutating func markOpen(_ name: String, _ key: CacheKey) { open[name] = key }

  mutating func markClosed(_ name: String) { open[name] = nil }

  /// Returns the key of an entry that is open here, or being opened or closed; nil for others.
  func openKey(_ name: String) -> CacheKey? { open[name] }

  // MARK: Pinned entries

  func pinnedBytes(except names: Set<String>) -> Int64 {
    names.reduce(pinnedBytes) { $0 &- (entries[$1]?.pinnedBytes ?? 0) }
  }

  /// Counts an entry as pinned that is about to be: measure it afterwards. False if it does not fit
  /// into `room` together with the other pinned entries.
  mutating func claim(_ bytes: Int64, for name: String, within room: Int64) -> Bool {
    guard bytes <= room - pinnedBytes(except: [name]) else { return false }
    var entry = entries[name] ?? .init(name: name, lastAccess: newest, allocatedBytes: 0)
    entry.pinnedBytes = bytes
    note(entry)
    return true
  }

  // MARK: Selecting

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
      if isSelected { break }
      queue = oldest(except: spared) + overdue(at: time)
    }
    return nil
  }

  /// Returns the least recently used entries that may be evicted, in order, the first one to go
  /// last. A look at all of a large cache takes milliseconds.
  func oldest(_ count: Int = 1000, except spared: Set<String> = []) -> [MeasuredEntry] {
    var found: [MeasuredEntry] = []
    // Nothing later is among the first: most entries are passed over by this comparison.
    var bound = Double.infinity
    func shorten() {
      found.sort(by: MeasuredEntry.isNewer)
      found.removeFirst(max(0, found.count - count))
    }
    for entry in entries.values
    where entry.lastAccess <= bound && mayBeEvicted(entry) && !spared.contains(entry.name) {
      found.append(entry)
      guard found.count == 2 * count else { continue }
      shorten()
      bound = found.first?.lastAccess ?? .infinity
    }
    shorten()
    return found
  }

  func overdue(at time: Double) -> [MeasuredEntry] {
    entries.values.filter { entry in
      guard let keep = entry.keep, mayBeEvicted(entry) else { return false }
      return entry.lastAccess + Double(keep) <= time
    }
  }

  // MARK: Scanning

  mutating func beginScan() { seen = [] }

  /// Ends a scan of all entries: those not measured since it began no longer exist, or cannot be
  /// evicted.
  mutating func endScan(began: ContinuousClock.Instant, ended: ContinuousClock.Instant) {
    let found = (seen.take() ?? []).union(open.keys)
    for name in Array(entries.keys) where !found.contains(name) { forget(name) }
    lastScan = (ended, ended - began)
  }

  /// Lets another scan begin after one that has completed or not. What it has found is considered.
  mutating func leaveScan() { (scan, seen, queue) = (nil, nil, []) }

  /// Whether others may have stored much since the last scan; the cheaper a scan, the sooner.
  func isOld(at now: ContinuousClock.Instant) -> Bool {
    lastScan.map { now - $0.ended > max(.seconds(5), $0.duration * 20) } ?? true
  }
}
