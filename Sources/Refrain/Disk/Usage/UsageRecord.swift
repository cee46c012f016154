// SPDX-License-Identifier: MIT

/// The disk space that a cache directory takes, as counted by every cache that writes to it. A pure
/// value, kept in the file `usage`.
///
/// One rule makes the count safe: `used` is never less than the allocated bytes. A writer adds
/// bytes to it before it allocates them (a grant), and subtracts them only after they were freed,
/// or if they were granted and never written. A measurement replaces a grant only if it was made
/// after the writing ended, or if all bytes that may have been written during the measurement are
/// added to it (`endCheck`).
struct UsageRecord: Sendable, Hashable {
  /// A cache that is writing, and the bytes that it may write without a further grant.
  struct Writer: Sendable, Hashable {
    var id: UInt64
    /// The identifier of its process.
    var process: Int64
    /// The most bytes that it may still allocate, or holds in removed files.
    var outstanding: Int64
  }

  /// Allocated bytes, and bytes that writers may allocate.
  var used: Int64 = 0
  /// All bytes ever granted, or held in removed files. Only counts up.
  var granted: Int64 = 0
  /// All bytes ever granted that were returned unwritten. Only counts up.
  var returned: Int64 = 0
  /// Bytes granted since `used` became a guess; nil while `used` is not one.
  var unchecked: Int64?
  /// The number of measurements of the directory that replaced the count. Only counts up.
  var checks: Int64 = 0
  /// The most by which `used` may be too high: bytes written during the last measurement may have
  /// been counted twice.
  var slack: Int64 = 0
  /// The time of the last measurement, in seconds since 1970.
  var checkedAt: Double = 0
  /// The boot in which the record was written. In another boot the writers' process identifiers
  /// mean nothing and written bytes may be lost, so `used` is a guess.
  var bootIdentity: String
  var writers: [Writer] = []

  /// Returns the most bytes granted to all writers together while `used` is a guess.
  static func uncheckedLimit(_ limit: Int64) -> Int64 { min(16 << 20, limit / 16) }

  // MARK: Granting

  /// Grants `bytes` to a writer, or `quantum` if there is room, so that it need not ask for every
  /// chunk.
  ///
  /// - Parameters:
  ///   - limit: the limit for all writers together; nil for none.
  ///   - freed: the bytes that the writer has freed since its last call. Negative: it took more
  ///     than it was granted.
  ///   - left: the bytes left of its earlier grants.
  /// - Returns: the bytes granted; nil if there is no room.
  mutating func grant(
    _ bytes: Int64, quantum: Int64, to writer: (id: UInt64, process: Int64), limit: Int64?,
    freed: Int64, left: Int64
  ) -> Int64? {
    free(freed)
    let amount = [max(quantum, bytes), bytes].first { fits($0, limit: limit) }
    if let amount {
      used += amount
      granted += amount
      if let guess = unchecked { unchecked = guess + amount }
    }
    note(writer, outstanding: left + (amount ?? 0))
    return amount
  }

  func fits(_ bytes: Int64, limit: Int64?) -> Bool { shortage(of: bytes, limit: limit) == 0 }

  /// Returns the bytes to free before `bytes` more can be granted.
  func shortage(of bytes: Int64, limit: Int64?) -> Int64 {
    guard let limit else { return 0 }
    let guess = unchecked.map { $0 + bytes - max(Self.uncheckedLimit(limit), bytes) } ?? 0
    return max(0, used + bytes - limit, guess)
  }

  /// Subtracts bytes that were allocated when the directory was last measured and no longer are.
  ///
  /// - Parameter bytes: negative if more was written than was granted: when two writers extend one
  ///   file at once, one measures the bytes of both, and the other returns its grant.
  mutating func free(_ bytes: Int64) {
    if bytes < 0 { granted -= bytes }
    used = max(0, used - bytes)
    if let guess = unchecked { unchecked = max(0, guess - bytes) }
  }

  /// Adds bytes of removed files that somebody still reads: they are still allocated, but no
  /// measurement sees them any more.
  ///
  /// - Parameter isCounted: whether the last measurement of the directory includes them.
  mutating func hold(_ bytes: Int64, isCounted: Bool) {
    granted += bytes
    guard !isCounted else { return }
    used += bytes
    slack += bytes
  }

  /// Returns bytes that a writer was granted and did not write.
  mutating func giveBack(
    _ bytes: Int64, by writer: (id: UInt64, process: Int64), left: Int64
  ) {
    used = max(0, used - bytes)
    returned += bytes
    if let guess = unchecked { unchecked = max(0, guess - bytes) }
    note(writer, outstanding: left)
  }

  private mutating func note(_ writer: (id: UInt64, process: Int64), outstanding: Int64) {
    let index = writers.firstIndex { $0.id == writer.id }
    if outstanding <= 0 {
      if let index { writers.remove(at: index) }
    } else if let index {
      writers[index].outstanding = outstanding
    } else if writers.count < Self.mostWriters {
      writers.append(.init(id: writer.id, process: writer.process, outstanding: outstanding))
    }
  }

  // MARK: Checking

  /// The state before a measurement, which is needed to use its result.
  struct CheckStart: Sendable, Hashable {
    var outstanding: Int64
    var granted: Int64
    var returned: Int64
    var dead: Set<UInt64>
  }

  /// Begins a measurement. `dead` writers will not write any more.
  func beginCheck(dead: Set<UInt64>) -> CheckStart {
    CheckStart(
      outstanding: writers.reduce(0) { $0 + (dead.contains($1.id) ? 0 : $1.outstanding) },
      granted: granted, returned: returned, dead: dead)
  }

  /// Ends a measurement. A count that was no guess, and that the measurement does not contradict, is
  /// kept: it is the better one, while no writer has died.
  ///
  /// Otherwise all bytes that may have been written since it began are added to the measurement,
  /// because it may have missed them, and so are held bytes of removed files. Bytes freed since then
  /// are not subtracted, because it may have missed those already.
  mutating func endCheck(_ start: CheckStart, measured: Int64, at now: Double) {
    writers.removeAll { start.dead.contains($0.id) }
    checkedAt = now
    let added = start.outstanding + (granted - start.granted) - (returned - start.returned)
    let possible = measured...max(measured, measured + added)
    if unchecked == nil, start.dead.isEmpty, possible.contains(used) {
      slack = min(slack, used - measured)
      return
    }
    slack = added
    used = measured + added
    unchecked = nil
    checks += 1
  }
}
