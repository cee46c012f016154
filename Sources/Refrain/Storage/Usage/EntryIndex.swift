// SPDX-License-Identifier: MIT

/// What entries take and when they were last used, as far as it was looked at: what eviction chooses
/// from. A pure value, filled in the background.
struct EntryIndex: Sendable {
  private var entries: [String: Eviction.Candidate] = [:]
  /// Entries open in this process, with how often.
  private var open: [String: Int] = [:]
  private var queue = EvictionQueue()
  /// The last scan that came to its end; nil: none has.
  private(set) var lastScan: (ended: ContinuousClock.Instant, duration: Duration)?

  /// Entries that were looked at, but not by the scan that runs.
  private var noted: Set<String> = []
  /// The latest time of use that is known.
  private var newest = -Double.infinity

  mutating func note(_ entry: Eviction.Candidate, byScan: Bool = false) {
    if entries[entry.name]?.lastAccess != entry.lastAccess { queue.note(entry) }
    entries[entry.name] = entry
    newest = max(newest, entry.lastAccess)
    if !byScan { noted.insert(entry.name) }
  }

  mutating func beginScan() { noted = [] }

  mutating func forget(_ name: String) { entries[name] = nil }

  /// An entry is used now.
  ///
  /// - Parameter time: by the clock on the wall.
  /// - Returns: the time to record: later than that of every use before, though the clock may have been
  ///   set back since.
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

  /// Of those that may go the ones that were used the longest ago, in this order.
  ///
  /// - Parameters:
  ///   - wanted: what they are to take together, in bytes; there may be more behind them where they
  ///     take less.
  ///   - spared: names of those that stay.
  mutating func oldest(
    toFree wanted: Int64, except spared: Set<String>
  ) -> [Eviction.Candidate] {
    func mayGo(_ name: String) -> Bool { open[name] == nil && !spared.contains(name) }
    let first = queue.first(toFree: wanted, of: entries, where: mayGo)
    if !first.isEmpty || wanted <= 0 { return first }
    queue.fill(entries.values.filter { mayGo($0.name) })
    return queue.first(toFree: wanted, of: entries, where: mayGo)
  }

  /// How many may go.
  var candidateCount: Int { entries.count - open.keys.count { entries[$0] != nil } }

  var isEmpty: Bool { entries.isEmpty }

  /// What a scan did not come across is gone.
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
}
