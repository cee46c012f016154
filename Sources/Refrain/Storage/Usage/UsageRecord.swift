// SPDX-License-Identifier: MIT

/// How much disk a cache directory takes, as every cache that writes to it counts it. A pure value,
/// kept in the file `usage`.
///
/// One rule makes the count safe: `used` is never less than what is allocated. A writer adds bytes
/// to it before it allocates them (a grant), and takes them off only after they were freed, or when
/// they were granted and never written. A grant is replaced by a measurement only if that was made
/// after the writing ended, or if everything that may have been written during the measuring is
/// added to it (`check`).
struct UsageRecord: Sendable, Hashable {
  /// A cache that is writing, with what it may write without asking again.
  struct Writer: Sendable, Hashable {
    var id: UInt64
    /// Its process.
    var process: Int64
    /// Most bytes that it may still allocate, or holds in files that were removed.
    var outstanding: Int64
  }

  /// What is allocated, and what writers may allocate.
  var used: Int64 = 0
  /// All bytes ever granted, or held in files that were removed. Only counts up.
  var granted: Int64 = 0
  /// All bytes ever granted that were given back without having been written. Only counts up.
  var returned: Int64 = 0
  /// Bytes granted since `used` became a guess; nil while it is not one.
  var unchecked: Int64?
  /// How often the directory was measured. Only counts up.
  var checks: Int64 = 0
  /// By how much `used` may be too high, for what was written while the directory was last measured
  /// may have been counted twice.
  var slack: Int64 = 0
  /// When the directory was last measured, in seconds since 1970.
  var checkedAt: Double = 0
  /// Other writers' numbers mean nothing in another run of the machine, and what was written there
  /// may be lost: `used` is a guess then.
  var bootIdentity: String
  var writers: [Writer] = []

  /// Most bytes granted to all writers together while `used` is a guess.
  static func uncheckedLimit(_ limit: Int64) -> Int64 { min(16 << 20, limit / 16) }

  // MARK: Granting

  /// Adds `bytes` to what `id` may write; where there is room for it, `quantum` instead, so that it
  /// need not ask for every chunk.
  ///
  /// - Parameters:
  ///   - limit: what all together may take; nil: no limit.
  ///   - freed: what the writer has freed since it last asked. Negative: it took more than granted.
  ///   - left: what it has left of earlier grants.
  /// - Returns: how much was granted; nil where there is no room.
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

  /// What has to be freed before `bytes` more can be granted.
  func shortage(of bytes: Int64, limit: Int64?) -> Int64 {
    guard let limit else { return 0 }
    let guess = unchecked.map { $0 + bytes - max(Self.uncheckedLimit(limit), bytes) } ?? 0
    return max(0, used + bytes - limit, guess)
  }

  /// What was allocated is not any more, and was when the directory was last measured.
  ///
  /// - Parameter bytes: where negative, more was written than was granted for it: of two that write to
  ///   one file at once, one finds what both have written, and the other gives its grant back.
  mutating func free(_ bytes: Int64) {
    if bytes < 0 { granted -= bytes }
    used = max(0, used - bytes)
    if let guess = unchecked { unchecked = max(0, guess - bytes) }
  }

  /// Files were removed that somebody still reads: what they take is there, and no measurement sees it
  /// any more.
  ///
  /// - Parameter isCounted: whether they were there when the directory was last measured.
  mutating func hold(_ bytes: Int64, isCounted: Bool) {
    granted += bytes
    guard !isCounted else { return }
    used += bytes
    slack += bytes
  }

  /// A writer gives back what it was granted and did not write.
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

  /// What has to be known from before a measurement to make use of it.
  struct CheckStart: Sendable, Hashable {
    var outstanding: Int64
    var granted: Int64
    var returned: Int64
    var dead: Set<UInt64>
  }

  /// A measurement begins. Writers that are `dead` have written all that they ever will.
  func beginCheck(dead: Set<UInt64>) -> CheckStart {
    CheckStart(
      outstanding: writers.reduce(0) { $0 + (dead.contains($1.id) ? 0 : $1.outstanding) },
      granted: granted, returned: returned, dead: dead)
  }

  /// A measurement has ended. All that may have been written since it began is added, for it may
  /// have been missed, and so is what was removed and is held; what was freed since then is not taken
  /// off, for it may have been.
  mutating func endCheck(_ start: CheckStart, measured: Int64, at now: Double) {
    slack = start.outstanding + (granted - start.granted) - (returned - start.returned)
    used = measured + slack
    writers.removeAll { start.dead.contains($0.id) }
    unchecked = nil
    checkedAt = now
    checks += 1
  }
}
