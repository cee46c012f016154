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
  mutating func credit(_ name: String, freed: Int64, held: Int64) {
    grown[name, default: 0] -= freed + held
    addFreed(freed)
    if held > 0 { self.held[name, default: 0] += held }
  }

  /// The files of an open entry are as they will stay.
  ///
  /// - Parameters:
  ///   - reserved: what is still pending for them.
  ///   - growth: by how much they are larger on disk than when the entry was opened; nil where that
  ///     cannot be looked up: then all that was granted counts as written.
  ///   - isClosed: whether nobody in this process reads removed ones any more.
  mutating func conclude(_ name: String, reserved: Int64, growth: Int64?, isClosed: Bool) {
    pending -= reserved
    let counted = grown.removeValue(forKey: name) ?? 0
    if let growth { addFreed(reserved + counted - growth) }
    if isClosed { addFreed(held.removeValue(forKey: name) ?? 0) }
  }

  /// Files of an entry that is not open were removed or shortened.
  mutating func addFreed(_ bytes: Int64) {
    if bytes < 0 { excess -= bytes } else { freed += bytes }
  }

  /// Whether the shared record has to be changed.
  var hasNews: Bool { isListed || freed > 0 || excess > 0 }

  // MARK: The shared record

  /// How often the directory had been measured when the shared record was last changed.
  private var lastCheck: Int64 = 0

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
  /// taken off a second time.
  private mutating func reportFreed(to record: inout UsageRecord) {
    if record.checks == lastCheck { record.free(freed) }
    if excess > 0 { record.free(-excess) }
    freed = 0
    excess = 0
    lastCheck = record.checks
  }
}
