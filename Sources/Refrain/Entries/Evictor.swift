// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Makes room in a store, one call at a time. Called from tasks on `IOThreads` only: a default
/// actor runs where its caller's task prefers, and everything here blocks.
actor Evictor {
  let budget: DiskBudget
  private let table: EntryTable
  private let report: @Sendable (CacheEvent) -> Void
  private var advance: Task<Void, Never>?
  private var isClosed = false

  init(budget: DiskBudget, table: EntryTable, report: @Sendable @escaping (CacheEvent) -> Void) {
    (self.budget, self.table, self.report) = (budget, table, report)
  }

  /// Reserves room for a generation, if need be after evictions; none for a resource whose length
  /// would not fit beside the pinned entries. False if there is no room.
  nonisolated func reserve(_ bytes: Int64, for generation: Generation) async -> Bool {
    if budget.reserve(bytes) { return true }
    let length = generation.withState(\.length)
    guard budget.canHold(length, for: generation.entry.name) else { return false }
    while await makeRoom(for: bytes, isUrgent: { generation.hasPlayers }) {
      if budget.reserve(bytes) { return true }
    }
    return false
  }

  /// Frees the room that `bytes` more need, and returns whether there is room now. What is urgent
  /// waits for a second at most: a player goes on without storing.
  func makeRoom(for bytes: Int64, isUrgent: @Sendable () -> Bool = { true }) async -> Bool {
    var (began, isReleased): (ContinuousClock.Instant?, Bool) = (nil, false)
    while budget.shortage(of: bytes) > 0 {
      guard await budget.waitForCandidates(isUrgent: isUrgent) else { return false }
      // Another caller may have made room. From here to the end of the eviction, none runs.
      let shortage = budget.shortage(of: bytes)
      if shortage == 0 { break }
      if evictOldest(shortage) > 0 {
        freeInAdvance()
        // A concurrent measurement may still include some of the freed bytes.
        continue
      }
      // Other processes may have stored entries that can be evicted.
      if await budget.rescan() { continue }
      // Entries that are held open only for speed can go once they have closed. What is closing may
      // be reopened again and again.
      let start = began ?? .now
      began = start
      guard .now - start < .seconds(isUrgent() ? 1 : 10), !Task.isCancelled else { return false }
      if table.releaseIdle() { isReleased = true }
      let hasSettled = await table.settle()
      guard isReleased || hasSettled else { return false }
      if !hasSettled { try? await Task.sleep(for: .milliseconds(10)) }
    }
    return true
  }

  /// Frees about `bytes` on a full disk, regardless of the limit, and returns the bytes freed.
  func free(_ bytes: Int64) async -> Int64 {
    _ = await budget.waitForCandidates()
    return evictOldest(bytes)
  }

  /// Stops freeing in advance for good, and waits until it has ended.
  func close() async {
    isClosed = true
    await advance?.value
  }

  /// Frees bytes in advance, so that not every write evicts. Callers mostly wait for its end.
  private func freeInAdvance() {
    // Before the first full scan, the oldest known entries need not be old.
    guard advance == nil, !isClosed, let limit = budget.usableLimit,
      budget.index.withLock({ $0.lastScan != nil })
    else { return }
    advance = Task(executorPreference: IOThreads.background) {
      while await self.freeNext(min(limit / 64, 64 << 20)) {}
    }
  }

  private func freeNext(_ bytes: Int64) -> Bool {
    let shortage = budget.shortage(of: bytes)
    if !isClosed, shortage > 0, evictOldest(shortage, most: 1) > 0 { return true }
    advance = nil
    return false
  }

  /// Evicts the least recently used entries, without suspending, and returns the bytes freed.
  private func evictOldest(_ bytes: Int64, most: Int = .max) -> Int64 {
    let time = budget.wallSeconds
    var (freed, count): (Int64, Int) = (0, 0)
    var spared: Set<String> = []
    while freed < bytes, count < most,
      let entry = budget.index.withLock({ [spared] in $0.next(at: time, except: spared) })
    {
      guard let gone = evict(entry, toFree: bytes - freed) else { continue }
      if gone > 0 { count += 1 } else { spared.insert(entry.name) }
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
    let name = entry.name
    let directory = budget.entryDirectory(named: name)
    do {
      guard let lock = try WriterLock.acquire(directory, waits: false), budget.openKey(name) == nil
      else { return 0 }
      defer { withExtendedLifetime(lock) {} }
      let found = try budget.measure(name)
      // The time may also be earlier, if the clock was set back.
      guard let found, found.pinnedBytes == nil, found.lastAccess == entry.lastAccess else {
        budget.index.withLock { if let found { $0.note(found) } else { $0.forget(name) } }
        return nil
      }
      let size = found.allocatedBytes
      var key: CacheKey?
      let freed = try budget.changing(name) {
        let shortens = size / 2 >= wanted && size > 1 << 20
        key = try directory.evict(shortens ? wanted : nil)
      }
      if let key, freed > 0 { report(.evicted(key, bytes: freed)) }
      return freed
    } catch {
      let text = directory.writtenRecord?.url ?? directory.path
      report(.warning("\(text) could not be evicted: \(error)."))
    }
    return 0
  }
}
