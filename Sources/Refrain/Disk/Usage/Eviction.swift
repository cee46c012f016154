// SPDX-License-Identifier: MIT

/// Selects the entries to evict when room is needed. A pure value.
struct Eviction: Sendable {
  struct Candidate: Sendable, Hashable {
    var name: String
    /// Seconds since 1970.
    var lastAccess: Double
    var allocatedBytes: Int64
    /// The disk space that it claims because it is pinned; nil if it is not, and may be evicted.
    var pinnedBytes: Int64?
    /// The seconds for which it stays after its last access; nil: for as long as there is room.
    var keep: Int64?
    /// The scan during which `EntryIndex` received it.
    var scan = 0

    /// Whether its time is over.
    ///
    /// - Parameter time: seconds since 1970.
    func isOverdue(at time: Double) -> Bool {
      keep.map { lastAccess + Double($0) <= time } ?? false
    }
  }

  /// The part of one entry to evict.
  struct Step: Sendable, Hashable {
    var name: String
    /// The bytes to free; the entry's whole size if all of it is removed.
    var bytes: Int64
    var removesAll: Bool
    /// The last access when this was planned, in seconds since 1970.
    var lastAccess: Double
  }

  /// Plans evictions, the least recently used entries first. The last one is only shortened if most
  /// of it may stay: its end is dropped, because the next play needs its beginning first.
  static func plan(_ candidates: [Candidate], toFree wanted: Int64) -> [Step] {
    var steps: [Step] = []
    var left = wanted
    for candidate in candidates.sorted(by: goesBefore) {
      guard left > 0 else { break }
      let shortens = candidate.allocatedBytes / 2 >= left && candidate.allocatedBytes > 1 << 20
      steps.append(
        Step(
          name: candidate.name, bytes: shortens ? left : candidate.allocatedBytes,
          removesAll: !shortens, lastAccess: candidate.lastAccess))
      left -= candidate.allocatedBytes
    }
    return steps
  }

  /// Orders the least recently used first.
  static func goesBefore(_ left: Candidate, _ right: Candidate) -> Bool {
    (left.lastAccess, left.name) < (right.lastAccess, right.name)
  }

  /// Returns the bytes to free in advance once something had to be evicted, so that not every write
  /// evicts.
  static func advance(limit: Int64) -> Int64 { min(limit / 64, 64 << 20) }
}
