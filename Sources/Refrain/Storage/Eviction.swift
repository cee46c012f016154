// SPDX-License-Identifier: MIT

/// Which entries go when room is needed. A pure value.
struct Eviction: Sendable {
  struct Candidate: Sendable, Hashable {
    var name: String
    /// Seconds since 1970.
    var lastAccess: Double
    var allocatedBytes: Int64
  }

  /// How much to take from one entry.
  struct Step: Sendable, Hashable {
    var name: String
    /// Bytes to free; all of the entry where it is no less than what the entry takes.
    var bytes: Int64
    var removesAll: Bool
    /// As it was known when this was planned; seconds since 1970.
    var lastAccess: Double
  }

  /// The least recently used first. The last one is only shortened where most of it may stay: its
  /// end goes, for its beginning is what the next play needs first.
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

  /// The least recently used first.
  static func goesBefore(_ left: Candidate, _ right: Candidate) -> Bool {
    (left.lastAccess, left.name) < (right.lastAccess, right.name)
  }

  /// How much is to be free in advance once something had to go, so that not every write evicts.
  static func advance(limit: Int64) -> Int64 { min(limit / 64, 64 << 20) }
}
