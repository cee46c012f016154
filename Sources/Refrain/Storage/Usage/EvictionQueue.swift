// SPDX-License-Identifier: MIT

/// The entries that go first, kept in order from one choice to the next: to sort all of a large cache
/// takes tens of milliseconds, and room for every few hundred kilobytes is made separately. A pure value.
struct EvictionQueue: Sendable {
  /// In the order in which they go. What was said of one here may not hold any more.
  private var entries: [Eviction.Candidate] = []

  /// How many are sorted at a time.
  static let length = 1000

  /// Begins with the first ones of all that may go.
  mutating func fill(_ candidates: [Eviction.Candidate]) {
    var first = candidates
    if candidates.count > Self.length {
      let bound = candidates.map(\.lastAccess).sorted()[Self.length - 1]
      first = candidates.filter { $0.lastAccess < bound }
      // Of those that were used at the same time any will do.
      first += candidates.lazy.filter { $0.lastAccess == bound }.prefix(Self.length - first.count)
    }
    entries = first.sorted(by: Eviction.goesBefore)
  }

  /// Something was found out about an entry: it goes before others here, it may be.
  mutating func note(_ entry: Eviction.Candidate) {
    guard let last = entries.last, Eviction.goesBefore(entry, last) else { return }
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if Eviction.goesBefore(entries[middle], entry) { low = middle + 1 } else { high = middle }
    }
    if entries[low].name == entry.name { return }
    entries.insert(entry, at: low)
    if entries.count > 2 * Self.length { entries.removeLast(Self.length) }
  }

  /// Those that go first.
  ///
  /// - Parameters:
  ///   - wanted: what they are to take together, in bytes; they take less where there are too few here.
  ///   - known: what is known by now.
  ///   - mayGo: whether an entry of that name may go just now.
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
        // It was used since, and is in another place by now, or is not there any more.
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
