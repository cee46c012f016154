// SPDX-License-Identifier: MIT

/// The next entries to evict, kept in order between calls: a look at all of a large cache takes
/// milliseconds, and room is made for every few hundred kilobytes separately. A pure value.
struct EvictionQueue: Sendable {
  /// Candidates in eviction order. Their values may be out of date.
  private var entries: [Eviction.Candidate] = []

  /// The number of entries sorted at a time.
  static let length = 1000

  /// Replaces the queue by the first entries of all candidates.
  ///
  /// - Parameter mayGo: whether the entry of that name may be evicted now.
  mutating func fill(
    _ candidates: some Sequence<Eviction.Candidate>, where mayGo: (String) -> Bool
  ) {
    var first: [Eviction.Candidate] = []
    // Nothing later is among the first: most candidates are passed over by this comparison.
    var bound = Double.infinity
    for candidate in candidates
    where candidate.lastAccess <= bound && mayGo(candidate.name) {
      first.append(candidate)
      guard first.count == 2 * Self.length else { continue }
      first.sort(by: Eviction.goesBefore)
      first.removeLast(Self.length)
      bound = first.last?.lastAccess ?? bound
    }
    first.sort(by: Eviction.goesBefore)
    entries = Array(first.prefix(Self.length))
  }

  /// Inserts an entry whose values have changed, if it precedes others in the queue.
  mutating func note(_ entry: Eviction.Candidate) {
    guard let last = entries.last, Eviction.goesBefore(entry, last) else { return }
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if Eviction.goesBefore(entries[middle], entry) { low = middle + 1 } else { high = middle }
    }
    // The same name with another time is a record that is out of date.
    guard entries[low].name != entry.name || entries[low].lastAccess != entry.lastAccess else {
      return
    }
    entries.insert(entry, at: low)
    if entries.count > 2 * Self.length { entries.removeLast(Self.length) }
  }

  /// Returns the entries to evict first.
  ///
  /// - Parameters:
  ///   - wanted: the bytes that they take together; they take less if the queue is too short.
  ///   - known: the current values of all entries.
  ///   - mayGo: whether the entry of that name may be evicted now.
  mutating func first(
    toFree wanted: Int64, of known: [String: Eviction.Candidate], where mayGo: (String) -> Bool
  ) -> [Eviction.Candidate] {
    var found: [Eviction.Candidate] = []
    var bytes: Int64 = 0
    var isFirst = true
    var gone = 0
    for entry in entries {
      if bytes >= wanted { break }
      guard let now = known[entry.name], now.lastAccess == entry.lastAccess else {
        // The entry was used since and now ranks elsewhere, or no longer exists.
        if isFirst { gone += 1 }
        continue
      }
      isFirst = false
      guard mayGo(entry.name) else { continue }
      found.append(now)
      bytes += now.allocatedBytes
    }
    entries.removeFirst(gone)
    return found
  }
}
