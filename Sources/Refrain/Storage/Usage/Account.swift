// SPDX-License-Identifier: MIT

/// What one cache was granted of its directory's limit, and what became of it. A pure value.
struct Account: Sendable {
  /// Names this cache among the writers of `UsageRecord`.
  let id = UInt64.random(in: 1...UInt64.max)
  /// Granted, and not asked for by anybody yet.
  private(set) var allowance: Int64 = 0
  /// Asked for by those who are writing now.
  private(set) var pending: Int64 = 0
  /// What files take that were removed while somebody reads them, by entry.
  private var held: [String: Int64] = [:]
  /// Of that, what the shared record does not say yet.
  private var newlyHeld: Int64 = 0
  /// What was freed since the shared record was last changed.
  private var freed: Int64 = 0
  /// What was taken beyond what was granted, since then.
  private var excess: Int64 = 0
  /// Whether the shared record may name this cache among those who write.
  private(set) var isListed = false
  /// What each open entry was found to take more since it was opened.
  private var grown: [String: Int64] = [:]

  /// What this cache may still allocate, or holds where nobody else can see it.
  var outstanding: Int64 { allowance + pending + held.values.reduce(0, +) }

  mutating func take(_ bytes: Int64) -> Bool {
    guard allowance >= bytes else { return false }
    allowance -= bytes
    pending += bytes
    return true
  }

  /// What a writer took for, it has written, or not.
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

  /// Files of an open entry were removed: `freed` bytes are free, `held` ones will be when the entry
  /// is closed, for somebody reads them.
  ///
  /// - Parameter mark: `lastCheck`, from before they were.
  mutating func credit(_ name: String, freed: Int64, held: Int64, since mark: Int64) {
    grown[name, default: 0] -= freed + held
    addFreed(freed, since: mark)
    guard held > 0 else { return }
    self.held[name, default: 0] += held
    newlyHeld += held
  }

  /// The files of an open entry are as they will stay.
  ///
  /// - Parameters:
  ///   - reserved: what is still pending for them.
  ///   - growth: by how much they are larger on disk than when the entry was opened; nil where that
  ///     cannot be looked up: then all that was granted counts as written.
  ///   - isClosed: whether nobody in this process reads removed ones any more.
  ///   - mark: `lastCheck`, from before any of them was removed.
  mutating func conclude(
    _ name: String, reserved: Int64, growth: Int64?, isClosed: Bool, since mark: Int64
  ) {
    pending -= reserved
    let counted = grown.removeValue(forKey: name) ?? 0
    if let growth {
      let bytes = reserved + counted - growth
      // What was reserved and not written, no measurement has seen.
      let unwritten = min(bytes, reserved)
      addFreed(unwritten)
      addFreed(bytes - unwritten, since: mark)
    }
    if isClosed { addFreed(held.removeValue(forKey: name) ?? 0) }
  }

  /// Files were removed or shortened.
  ///
  /// - Parameter mark: `lastCheck`, from before they were. Where the directory was measured since, they
  ///   may be missing from what was found already: then they go on counting until the next time.
  mutating func addFreed(_ bytes: Int64, since mark: Int64) {
    if bytes < 0 || mark == lastCheck { addFreed(bytes) }
  }

  /// What was counted takes no space, and took none that a measurement could have seen.
  mutating func addFreed(_ bytes: Int64) {
    if bytes < 0 { excess -= bytes } else { freed += bytes }
  }

  /// Whether the shared record has to be changed.
  var hasNews: Bool { isListed || freed > 0 || excess > 0 || newlyHeld > 0 }

  // MARK: The shared record

  /// How often the directory had been measured when the shared record was last changed.
  private(set) var lastCheck: Int64 = 0

  /// Takes `bytes` of what was granted, and asks for more where that is not enough.
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

  /// Reports what was freed, and gives back what nobody here is going to write.
  mutating func report(to record: inout UsageRecord, process: Int64) {
    reportFreed(to: &record)
    let rest = pending == 0 ? allowance : 0
    allowance -= rest
    record.giveBack(rest, by: (id, process), left: outstanding)
    isListed = outstanding > 0
  }

  /// What was freed before the directory was measured may not have been seen any more: it is not
  /// taken off a second time. What is held may not have been seen either.
  private mutating func reportFreed(to record: inout UsageRecord) {
    let isCounted = record.checks == lastCheck
    if isCounted { record.free(freed) }
    if excess > 0 { record.free(-excess) }
    record.hold(newlyHeld, isCounted: isCounted)
    freed = 0
    excess = 0
    newlyHeld = 0
    lastCheck = record.checks
  }
}
