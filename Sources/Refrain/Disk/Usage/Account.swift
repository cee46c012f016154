// SPDX-License-Identifier: MIT

/// The bytes that one cache was granted of its directory's limit, and their use. A pure value.
struct Account: Sendable {
  /// Identifies this cache among the writers of `UsageRecord`.
  let id = UInt64.random(in: 1...UInt64.max)
  /// Bytes granted and not yet reserved.
  private(set) var allowance: Int64 = 0
  /// Bytes reserved by current writers.
  private(set) var pending: Int64 = 0
  /// Bytes in removed files that somebody still reads, by entry.
  private var held: [String: Int64] = [:]
  /// The part of `held` that the shared record does not include yet.
  private var newlyHeld: Int64 = 0
  /// The same of files that a measurement since their removal may have missed.
  private var missedHeld: Int64 = 0
  /// Bytes freed since the shared record was last changed.
  private var freed: Int64 = 0
  /// Bytes taken beyond the grants since then.
  private var excess: Int64 = 0
  /// Whether the shared record may list this cache as a writer.
  private(set) var isListed = false
  /// The measured growth of each open entry since it was opened.
  private var grown: [String: Int64] = [:]

  /// The bytes that this cache may still allocate, or holds in files that only it can see.
  var outstanding: Int64 { allowance + pending + held.values.reduce(0, +) }

  mutating func take(_ bytes: Int64) -> Bool {
    guard allowance >= bytes else { return false }
    allowance -= bytes
    pending += bytes
    return true
  }

  /// Replaces a grant by the bytes that the writer actually allocated.
  mutating func settle(_ granted: Int64, actual: Int64, for name: String) {
    pending -= granted
    grown[name, default: 0] += actual
    if actual > granted {
      excess += actual - granted
    } else {
      allowance += granted - max(0, actual)
      addFreed(max(0, -actual))
    }
  }

  /// Records that files of an open entry were removed: `freed` bytes are free now, `held` bytes
  /// once the entry is closed, because somebody reads them.
  ///
  /// - Parameter mark: the value of `lastCheck` before they were removed.
  mutating func credit(_ name: String, freed: Int64, held: Int64, since mark: Int64) {
    grown[name, default: 0] -= freed + held
    addFreed(freed, since: mark)
    guard held > 0 else { return }
    self.held[name, default: 0] += held
    if mark == lastCheck { newlyHeld += held } else { missedHeld += held }
  }

  /// Settles an entry whose files will not change any more.
  ///
  /// - Parameters:
  ///   - reserved: the bytes still pending for the files.
  ///   - growth: the growth of the files on disk since the entry was opened; nil if it cannot be
  ///     measured: then every granted byte counts as written.
  ///   - isClosed: whether this process no longer reads removed files of the entry.
  ///   - mark: the value of `lastCheck` before any file was removed.
  mutating func conclude(
    _ name: String, reserved: Int64, growth: Int64?, isClosed: Bool, since mark: Int64
  ) {
    pending -= reserved
    let counted = grown.removeValue(forKey: name) ?? 0
    if let growth {
      let bytes = reserved + counted - growth
      // No measurement has seen bytes that were reserved and not written.
      let unwritten = min(bytes, reserved)
      addFreed(unwritten)
      addFreed(bytes - unwritten, since: mark)
    }
    if isClosed { addFreed(held.removeValue(forKey: name) ?? 0) }
  }

  /// Records that files were removed or shortened.
  ///
  /// - Parameter mark: the value of `lastCheck` before that. If the directory was measured since,
  ///   the measurement may already lack these bytes: then they count until the next one.
  mutating func addFreed(_ bytes: Int64, since mark: Int64) {
    if bytes < 0 || mark == lastCheck { addFreed(bytes) }
  }

  /// Records that counted bytes take no space, and took none that a measurement could have seen.
  mutating func addFreed(_ bytes: Int64) {
    if bytes < 0 { excess -= bytes } else { freed += bytes }
  }

  /// Whether the shared record needs an update.
  var hasNews: Bool { isListed || freed > 0 || excess > 0 || newlyHeld > 0 || missedHeld > 0 }

  // MARK: The shared record

  /// `UsageRecord.checks` when the shared record was last changed.
  private(set) var lastCheck: Int64 = 0

  /// Takes `bytes` from the allowance, and requests a further grant if it is too small.
  mutating func reserve(
    _ bytes: Int64, from record: inout UsageRecord, quantum: Int64, limit: Int64?, process: Int64
  ) -> Bool {
    if take(bytes) { return true }
    reportFreed(to: &record)
    let granted = record.grant(
      bytes - allowance, quantum: quantum, to: (id, process), limit: limit, freed: 0,
      left: outstanding)
    allowance += granted ?? 0
    isListed = true
    return take(bytes)
  }

  /// Reports freed bytes, and returns the allowance if no writer of this cache is active.
  mutating func report(to record: inout UsageRecord, process: Int64) {
    reportFreed(to: &record)
    let rest = pending == 0 ? allowance : 0
    allowance -= rest
    record.giveBack(rest, by: (id, process), left: outstanding)
    isListed = outstanding > 0
  }

  /// Reports freed and held bytes. A measurement made after bytes were freed may already lack them,
  /// so they are not subtracted again. It may lack the held bytes, too.
  private mutating func reportFreed(to record: inout UsageRecord) {
    let isCounted = record.checks == lastCheck
    if isCounted { record.free(freed) }
    if excess > 0 { record.free(-excess) }
    record.hold(newlyHeld, isCounted: isCounted)
    record.hold(missedHeld, isCounted: false)
    freed = 0
    excess = 0
    newlyHeld = 0
    missedHeld = 0
    lastCheck = record.checks
  }
}
