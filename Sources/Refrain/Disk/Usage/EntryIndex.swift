// SPDX-License-Identifier: MIT

/// The size and the last use of an entry, as found on the disk.
struct MeasuredEntry: Sendable, Hashable {
  var name: String
  /// Seconds since 1970.
  var lastAccess: Double
  var allocatedBytes: Int64
  /// The disk space that it claims because it is pinned; nil if it is not, and may be evicted.
  var pinnedBytes: Int64?
  /// The seconds for which it stays after its last access; nil: for as long as there is room.
  var keep: Int64?

  /// Orders the most recently used first.
  static func isNewer(_ left: Self, _ right: Self) -> Bool {
    (left.lastAccess, left.name) > (right.lastAccess, right.name)
  }
}

/// The known sizes and last accesses of entries, from which eviction selects. A value, filled by
/// scans in the background.
struct EntryIndex: Sendable {
  private var entries: [String: MeasuredEntry] = [:]
  /// The disk space that each pinned entry claims. Pinned entries are kept apart from `entries`, so
  /// that selecting among the others takes no longer, however many are pinned.
  private var pinned: [String: Int64] = [:]
  /// The entries of `pinned` that are only about to be pinned: a scan that finds no pin yet changes
  /// nothing.
  private var claimed: Set<String> = []
  /// The sum of `pinned`.
  private var pinnedBytes: Int64 = 0
  /// The entries that this process has open.
  private var open: Set<String> = []
  /// The names of entries that stay only for a time; some may be gone.
  private var brief: Set<String> = []
  /// The entries measured since the last scan began, by it or by others; nil once it has
  /// completed.
  private var seen: Set<String>?
  /// The last scan that completed; nil if none has.
  private(set) var lastScan: (ended: ContinuousClock.Instant, duration: Duration)?
  /// The scan that is running.
  var scan: Task<Void, Never>?
  /// Why the last scan failed; nil if it did not.
  var scanFailure: DiskError?
  /// Whether no further scan begins.
  var isClosed = false
  /// The latest known time of access.
  private var newest = -Double.infinity

  // MARK: Entries

  mutating func note(_ entry: MeasuredEntry) {
    if entry.pinnedBytes == nil, claimed.contains(entry.name) { return }
    seen?.insert(entry.name)
    setPinned(entry.pinnedBytes, entry.name)
    if entry.pinnedBytes == nil { entries[entry.name] = entry }
    if entry.keep == nil { brief.remove(entry.name) } else { brief.insert(entry.name) }
    newest = max(newest, entry.lastAccess)
  }

  mutating func forget(_ name: String) {
    entries[name] = nil
    claimed.remove(name)
    setPinned(nil, name)
  }

  /// Whether an entry that `oldest` has returned is still as it was, and may be evicted.
  func isCurrent(_ entry: MeasuredEntry) -> Bool {
    entries[entry.name]?.lastAccess == entry.lastAccess && !open.contains(entry.name)
  }

  /// Has an entry that cannot be evicted rank as one that is used now.
  mutating func postpone(_ name: String, at time: Double) {
    entries[name]?.lastAccess = max(newest, time)
  }

  /// Records that an entry is used now.
  ///
  /// - Returns: the time to record: later than every earlier access, even if the clock was set
  ///   back.
  mutating func touch(_ name: String, at time: Double) -> Double {
    newest = max(time, newest + 0.001)
    entries[name]?.lastAccess = newest
    return newest
  }

  mutating func markOpen(_ name: String) { open.insert(name) }

  mutating func markClosed(_ name: String) { open.remove(name) }

  func isOpen(_ name: String) -> Bool { open.contains(name) }

  /// The number of entries that may be evicted.
  var candidateCount: Int { entries.count - open.count { entries[$0] != nil } }

  // MARK: Pinned entries

  /// Returns the disk space that all known pinned entries but some claim.
  func pinnedBytes(except names: Set<String>) -> Int64 {
    names.reduce(pinnedBytes) { $0 &- (pinned[$1] ?? 0) }
  }

  /// Claims space for an entry that is about to be pinned: it counts as pinned until `endClaim`.
  ///
  /// - Returns: false if it does not fit into `room` together with the other pinned entries.
  mutating func claim(_ bytes: Int64, for name: String, within room: Int64) -> Bool {
    guard bytes <= room - pinnedBytes(except: [name]) else { return false }
    setPinned(bytes, name)
    claimed.insert(name)
    return true
  }

  /// Ends a claim. Measure the entry afterwards: it counts as pinned until then.
  mutating func endClaim(_ name: String) {
    claimed.remove(name)
    if pinned[name] != nil { seen?.insert(name) }
  }

  private mutating func setPinned(_ bytes: Int64?, _ name: String) {
    if bytes != nil { entries[name] = nil }
    pinnedBytes = pinnedBytes(except: [name]) &+ (bytes ?? 0)
    pinned[name] = bytes
  }

  // MARK: Selecting

  /// Returns the least recently used entries that may be evicted, in order, the first one to go
  /// last. A look at all of a large cache takes milliseconds.
  func oldest(_ count: Int = 1000) -> [MeasuredEntry] {
    var found: [MeasuredEntry] = []
    // Nothing later is among the first: most entries are passed over by this comparison.
    var bound = Double.infinity
    func shorten() {
      found.sort(by: MeasuredEntry.isNewer)
      found.removeFirst(max(0, found.count - count))
    }
    for entry in entries.values where entry.lastAccess <= bound && !open.contains(entry.name) {
      found.append(entry)
      guard found.count == 2 * count else { continue }
      shorten()
      bound = found.first?.lastAccess ?? .infinity
    }
    shorten()
    return found
  }

  /// Returns the entries that may be evicted and whose time is over.
  mutating func overdue(at time: Double) -> [MeasuredEntry] {
    brief = brief.filter { entries[$0]?.keep != nil || open.contains($0) }
    return brief.subtracting(open).compactMap { entries[$0] }.filter { entry in
      entry.keep.map { entry.lastAccess + Double($0) <= time } ?? false
    }
  }

  // MARK: Scanning

  mutating func beginScan() { seen = [] }

  /// Ends a scan of all entries: those that were not measured since it began no longer exist.
  mutating func endScan(began: ContinuousClock.Instant, ended: ContinuousClock.Instant) {
    let found = (seen.take() ?? []).union(open).union(claimed)
    for names in [Array(entries.keys), Array(pinned.keys)] {
      for name in names where !found.contains(name) { forget(name) }
    }
    lastScan = (ended, ended - began)
  }

  /// Whether others may have stored much since the last scan; the cheaper a scan, the sooner.
  func isOld(at now: ContinuousClock.Instant) -> Bool {
    lastScan.map { now - $0.ended > max(.seconds(5), $0.duration * 20) } ?? true
  }

  /// Makes the next scan due: entries that were closed without being measured are unknown.
  mutating func forgetScan() { lastScan = nil }
}
