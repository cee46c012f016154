// SPDX-License-Identifier: MIT

/// The known sizes and last accesses of entries, from which eviction selects. A pure value, filled
/// in the background.
struct EntryIndex: Sendable {
  private var entries: [String: Eviction.Candidate] = [:]
  /// The entries open in this process, and the number of times each is open.
  private var open: [String: Int] = [:]
  private var queue = EvictionQueue()
  /// The last scan that completed; nil if none has.
  private(set) var lastScan: (ended: ContinuousClock.Instant, duration: Duration)?

  /// Entries that were measured during the current scan, but not by it.
  private var noted: Set<String> = []
  /// The latest known time of access.
  private var newest = -Double.infinity

  mutating func note(_ entry: Eviction.Candidate, byScan: Bool = false) {
    if entries[entry.name]?.lastAccess != entry.lastAccess { queue.note(entry) }
    entries[entry.name] = entry
    newest = max(newest, entry.lastAccess)
    if !byScan { noted.insert(entry.name) }
  }

  mutating func beginScan() { noted = [] }

  mutating func forget(_ name: String) { entries[name] = nil }

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
    if open[name] == nil, let entry = entries[name] { queue.note(entry) }
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
    func mayGo(_ name: String) -> Bool { open[name] == nil && !spared.contains(name) }
    let first = queue.first(toFree: wanted, of: entries, where: mayGo)
    if !first.isEmpty || wanted <= 0 { return first }
    queue.fill(entries.values.filter { mayGo($0.name) })
    return queue.first(toFree: wanted, of: entries, where: mayGo)
  }

  /// The number of entries that may be evicted.
  var candidateCount: Int { entries.count - open.keys.count { entries[$0] != nil } }

  var isEmpty: Bool { entries.isEmpty }

  /// Ends a scan: entries that it did not find no longer exist.
  mutating func endScan(
    found: Set<String>, began: ContinuousClock.Instant, ended: ContinuousClock.Instant
  ) {
    entries = entries.filter {
      found.contains($0.key) || noted.contains($0.key) || open[$0.key] != nil
    }
    noted = []
    lastScan = (ended, ended - began)
  }

  /// Whether others may have stored much since the last scan; the cheaper a scan, the sooner.
  func isOld(at now: ContinuousClock.Instant) -> Bool {
    lastScan.map { now - $0.ended > max(.seconds(5), $0.duration * 20) } ?? true
  }

  /// Makes the next scan due: entries that were closed without being measured are unknown.
  mutating func forgetScan() { lastScan = nil }
}
