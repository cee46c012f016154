// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Makes room in a store, one call at a time. Called from tasks on `IOThreads` only: a default
/// actor runs where its caller's task prefers, and everything here blocks.
actor Evictor {
  let budget: DiskBudget
  private let table: EntryTable
  private let report: @Sendable (CacheEvent) -> Void
  private var isClosed = false

  init(budget: DiskBudget, table: EntryTable, report: @Sendable @escaping (CacheEvent) -> Void) {
    (self.budget, self.table, self.report) = (budget, table, report)
  }

  /// Reserves room for a generation, if need be after evictions; none for a resource whose length
  /// would not fit beside the pinned entries. False if there is no room.
  nonisolated func reserve(_ room: Int64, for generation: Generation) async -> Bool {
    if budget.reserve(room) { return true }
    let (length, isNew) = generation.withState { ($0.length, $0.stored.isEmpty) }
    guard budget.canHold(length, for: generation.entry.name) else { return false }
    // A first byte waits for no more than it needs.
    while await makeRoom(for: room, spare: isNew ? 0 : spare, isUrgent: { generation.hasPlayers }) {
      if budget.reserve(room) { return true }
    }
    return false
  }

  /// The bytes that a write may free in addition, so that not every write evicts. Before the first
  /// full scan, the oldest known entries need not be old.
  private nonisolated var spare: Int64 {
    let isScanned = budget.index.withLock { $0.lastScan != nil }
    return isScanned ? min((budget.usableLimit ?? 0) / 64, 64 << 20) : 0
  }

  /// Frees the room that `bytes` more need, and returns whether there is room now. What is urgent
  /// waits for a second at most: a player goes on without storing.
  func makeRoom(
    for bytes: Int64, spare: Int64 = 0, isUrgent: @Sendable () -> Bool = { true }
  ) async -> Bool {
    lazy var began = ContinuousClock.now
    var (isReleased, isRescanned) = (false, false)
    while budget.shortage(of: bytes) > 0 {
      guard await budget.waitForCandidates(isUrgent: isUrgent) else { return false }
      // Another caller may have made room. From here to the end of the eviction, none runs.
      let shortage = budget.shortage(of: bytes)
      if shortage == 0 { break }
      // A concurrent measurement may still include some of the freed bytes.
      if evictOldest(shortage, spare: spare) > 0 { continue }
      // Other processes may have stored entries that can be evicted. And a count is too high if bytes
      // were written while it was taken: what is not urgent waits for another one.
      let anyway = !isRescanned && !isUrgent() && !Task.isCancelled
      isRescanned = isRescanned || anyway
      if await budget.rescan(anyway: anyway, isUrgent: isUrgent) { continue }
      // Entries that are held open only for speed can go once they have closed. What is closing may
      // be reopened again and again.
      guard .now - began < .seconds(isUrgent() ? 1 : 10), !Task.isCancelled else { return false }
      isReleased = table.releaseIdle() || isReleased
      let hasSettled = await table.settle()
      let mayEnd = !isUrgent() && .now - began < .seconds(1)
      guard isReleased || hasSettled || mayEnd && table.openEntries.contains(where: \.isUnread)
      else { return false }
      if !hasSettled { try? await Task.sleep(for: .milliseconds(10)) }
    }
    return true
  }

  /// Frees about `bytes` on a full disk, regardless of the limit, and returns the bytes freed.
  func free(_ bytes: Int64) async -> Int64 {
    _ = await budget.waitForCandidates()
    return evictOldest(bytes)
  }

  /// Waits until a running eviction has ended. Entries whose time is over then stay.
  func close() { isClosed = true }

  /// Evicts the least recently used entries, without suspending, and returns the bytes freed: also
  /// those to `spare`, unless that takes long because they are small.
  private func evictOldest(_ bytes: Int64, spare: Int64 = 0) -> Int64 {
    let time = budget.wallSeconds
    var (freed, count): (Int64, Int) = (0, 0)
    var spared: Set<String> = []
    while freed < bytes || freed < bytes + spare && count < 100,
      let entry = budget.index.withLock({ [spared] in $0.next(at: time, except: spared) })
    {
      count += 1
      guard let gone = evict(entry, toFree: bytes + spare - freed) else { continue }
      if gone == 0 { spared.insert(entry.name) }
      freed += gone
    }
    return freed
  }

  /// Removes entries whose time is over.
  func removeOverdue() {
    if isClosed { return }
    let time = budget.wallSeconds
    for entry in budget.index.withLock({ $0.overdue(at: time) }) { _ = evict(entry, toFree: .max) }
  }

  /// Evicts an entry, and returns the bytes freed: none if it is in use; nil if the index has been
  /// corrected, because it is gone, or was used or pinned since it was measured. One of which most
  /// may stay loses its end: the next play begins at its start.
  private func evict(_ entry: MeasuredEntry, toFree wanted: Int64) -> Int64? {
    let (name, directory) = (entry.name, budget.entryDirectory(named: entry.name))
    do {
      guard let lock = try WriterLock.acquire(directory, waits: false), budget.openKey(name) == nil
      else { return 0 }
      defer { withExtendedLifetime(lock) {} }
      var (key, isCorrected): (CacheKey?, Bool) = (nil, false)
      let freed = try budget.changing(name) { found in
        // The time may also be earlier, if the clock was set back.
        guard let found, found.pinnedBytes == nil, found.lastAccess == entry.lastAccess else {
          isCorrected = true
          return
        }
        let shortens = found.allocatedBytes / 2 >= wanted && found.allocatedBytes > 1 << 20
        key = try directory.evict(shortens ? wanted : nil)
      }
      if isCorrected { return nil }
      if let key, freed > 0 { report(.evicted(key, bytes: freed)) }
      return freed
    } catch {
      let text = directory.writtenRecord?.url ?? directory.path
      report(.warning("\(text) could not be evicted: \(error)."))
    }
    return 0
  }
}
