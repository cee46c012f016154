// SPDX-License-Identifier: MIT

/// The known sizes and last accesses of entries, from which eviction selects. A pure value, filled
/// in the background.
struct EntryIndex: Sendable {
  private var entries: [String: Eviction.Candidate] = [:]
  /// The disk space that each pinned entry claims. Pinned entries are kept apart from `entries`, so
  /// that selecting among the others takes no longer, however many are pinned.
  private var pinned: [String: (bytes: Int64, scan: Int)] = [:]
  /// The entries that are about to be pinned: a scan that finds no pin yet changes nothing.
  private var claims: Set<String> = []
  /// The sum of `pinned`.
  private var pinnedBytes: Int64 = 0
  /// The entries open in this process, and the number of times each is open.
  private var open: [String: Int] = [:]
  /// The next entries to evict, in order: a look at all of a large cache takes milliseconds, and
  /// room is made for every few hundred kilobytes separately. Some may have been used since, or be
  /// gone.
  private var queue: [Eviction.Candidate] = []
  /// The number of entries sorted at a time.
  private static let queueLength = 1000
  /// The names of entries that stay only for a time; some may be gone.
  private var brief: Set<String> = []
  /// The last scan that completed; nil if none has.
  private(set) var lastScan: (ended: ContinuousClock.Instant, duration: Duration)?

  /// The number of the last scan that began. Entries measured while it runs, by it or by others,
  /// have its number.
  private var scan = 0
  /// The latest known time of access.
  private var newest = -Double.infinity

  mutating func note(_ entry: Eviction.Candidate) {
    if entry.pinnedBytes == nil, claims.contains(entry.name) { return }
    var entry = entry
    entry.scan = scan
    setPinned(entry.pinnedBytes, entry.name)
    if entry.pinnedBytes == nil {
      if entries[entry.name]?.lastAccess != entry.lastAccess { rank(entry) }
      entries[entry.name] = entry
    }
    if entry.keep == nil { brief.remove(entry.name) } else { brief.insert(entry.name) }
    newest = max(newest, entry.lastAccess)
  }

  mutating func forget(_ name: String) {
    entries[name] = nil
    setPinned(nil, name)
  }

  /// Returns the disk space that all pinned entries but one claim, of those known.
  func pinnedBytes(except name: String) -> Int64 { pinnedBytes &- (pinned[name]?.bytes ?? 0) }

  /// Claims space for an entry that is about to be pinned, until `endClaim`.
  ///
  /// - Returns: false if it does not fit into `room` together with the other pinned entries.
  mutating func claim(_ bytes: Int64, for name: String, within room: Int64) -> Bool {
    guard bytes <= room - pinnedBytes(except: name) else { return false }
    setPinned(bytes, name)
    claims.insert(name)
    return true
  }

  /// Ends a claim. Note the entry afterwards, or forget it.
  mutating func endClaim(_ name: String) { claims.remove(name) }

  private mutating func setPinned(_ bytes: Int64?, _ name: String) {
    if bytes != nil { entries[name] = nil }
    pinnedBytes = pinnedBytes(except: name) &+ (bytes ?? 0)
    pinned[name] = bytes.map { ($0, scan) }
  }

  /// Records that an entry is used now.
  ///
  /// - Parameter time: the wall-clock time.
  /// - Returns: the time to record: later than every earlier access, even if the clock was set
  ///   back.
  mutating func touch(_ name: String, at time: Double) -> Double {
    newest = max(time, newest + 0.001)
    entries[name]?.lastAccess = newest
    return newest
  }

  mutating func markOpen(_ name: String) { open[name, default: 0] += 1 }

  mutating func markClosed(_ name: String) {
    open[name] = open[name].flatMap { $0 > 1 ? $0 - 1 : nil }
    if open[name] == nil, let entry = entries[name] { rank(entry) }
  }

  func isOpen(_ name: String) -> Bool { open[name] != nil }

  /// Returns the least recently used entries that may be evicted, oldest first.
  ///
  /// - Parameters:
  ///   - wanted: the bytes that they take together; if they take less, further entries may follow.
  ///   - spared: names of entries to keep.
  mutating func oldest(
    toFree wanted: Int64, except spared: Set<String>
  ) -> [Eviction.Candidate] {
    let first = self.first(toFree: wanted, except: spared)
    if !first.isEmpty || wanted <= 0 { return first }
    fillQueue(except: spared)
    return self.first(toFree: wanted, except: spared)
  }

  private func mayGo(_ name: String, except spared: Set<String>) -> Bool {
    open[name] == nil && !spared.contains(name)
  }

  /// Has the queue filled again if an entry that may be evicted now precedes others in it.
  private mutating func rank(_ entry: Eviction.Candidate) {
    if let last = queue.last, Eviction.goesBefore(entry, last) { queue = [] }
  }

  private mutating func fillQueue(except spared: Set<String>) {
    queue = []
    // Nothing later is among the first: most entries are passed over by this comparison.
    var bound = Double.infinity
    for entry in entries.values where entry.lastAccess <= bound && mayGo(entry.name, except: spared)
    {
      queue.append(entry)
      guard queue.count == 2 * Self.queueLength else { continue }
      queue.sort(by: Eviction.goesBefore)
      queue.removeLast(Self.queueLength)
      bound = queue.last?.lastAccess ?? bound
    }
    queue.sort(by: Eviction.goesBefore)
    queue = Array(queue.prefix(Self.queueLength))
  }

  /// Returns the current values of an entry in the queue; nil if it was used since, or is gone.
  private func now(_ entry: Eviction.Candidate) -> Eviction.Candidate? {
    entries[entry.name].flatMap { $0.lastAccess == entry.lastAccess ? $0 : nil }
  }

  private mutating func first(
    toFree wanted: Int64, except spared: Set<String>
  ) -> [Eviction.Candidate] {
    let gone = queue.firstIndex { now($0) != nil } ?? queue.count
    queue.removeFirst(gone)
    var found: [Eviction.Candidate] = []
    var bytes: Int64 = 0
    for entry in queue {
      if bytes >= wanted { break }
      guard let now = now(entry), mayGo(entry.name, except: spared) else { continue }
      found.append(now)
      bytes += now.allocatedBytes
    }
    return found
  }

  /// Returns the entries that may be evicted and whose time is over.
  ///
  /// - Parameter time: seconds since 1970.
  mutating func overdue(at time: Double) -> [Eviction.Candidate] {
    guard !brief.isEmpty else { return [] }
    brief = brief.filter { entries[$0]?.keep != nil || open[$0] != nil }
    return brief.compactMap { entries[$0] }
      .filter { open[$0.name] == nil && $0.isOverdue(at: time) }
  }

  /// The number of entries that may be evicted.
  var candidateCount: Int { entries.count - open.keys.count { entries[$0] != nil } }

  var isEmpty: Bool { entries.isEmpty }

  mutating func beginScan() { scan += 1 }

  /// Ends a scan of all entries: those that were not measured since it began no longer exist.
  mutating func endScan(began: ContinuousClock.Instant, ended: ContinuousClock.Instant) {
    entries = entries.filter { $0.value.scan == scan || open[$0.key] != nil }
    for (name, pin) in pinned where pin.scan != scan && open[name] == nil && !claims.contains(name)
    {
      setPinned(nil, name)
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
