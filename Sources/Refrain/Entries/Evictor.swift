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

  init(
    budget: DiskBudget, table: EntryTable,
    report: @Sendable @escaping (CacheEvent) -> Void
  ) {
    (self.budget, self.table, self.report) = (budget, table, report)
  }

  /// Reserves room for an entry (`DiskBudget.reserve`), after evictions if need be, which may take
  /// a while: `evicts` is called before. Nothing is evicted for a resource whose length would not
  /// fit beside the pinned entries: it is stored as far as there is room. Returns false if entries
  /// in use or pinned fill the limit.
  nonisolated func reserve(
    _ bytes: Int64, for name: String, length: @autoclosure @Sendable () -> Int64?,
    evicts: @Sendable () -> Void = {}
  ) async -> Bool {
    if budget.reserve(bytes) { return true }
    guard budget.canHold(length(), for: name) else { return false }
    evicts()
    return await makeRoom(for: bytes, reserves: true)
  }

  /// Frees the room that `bytes` more need, and returns whether there is room now, or with
  /// `reserves`, whether it is reserved: others may take what was freed.
  func makeRoom(for bytes: Int64, reserves: Bool = false) async -> Bool {
    // Waits of ten milliseconds, or until what is closing has closed: it may be reopened again and
    // again.
    var attempts = 100
    var isReleased = false
    while reserves ? !budget.reserve(bytes) : budget.shortage(of: bytes) > 0 {
      guard await budget.waitForCandidates() else { return false }
      // Another caller may have made room in the meantime. From here to the end of the eviction no
      // other call runs.
      let shortage = budget.shortage(of: bytes)
      if shortage == 0 { continue }
      if evictOldest(shortage) > 0 {
        freeInAdvance()
        // A concurrent measurement may still include some of the freed bytes.
        continue
      }
      // Other processes may have stored entries that can be evicted.
      if await budget.rescan() { continue }
      // Entries that are held open only for speed can go once they are recorded, perhaps after a sync
      // that is running, and so can those that are being closed.
      if table.releaseIdle() { isReleased = true }
      let hasSettled = await table.settle()
      guard attempts > 0, isReleased || hasSettled else { return false }
      attempts -= hasSettled ? 25 : 1
      if !hasSettled { try? await Task.sleep(for: .milliseconds(10)) }
    }
    return true
  }

  /// Frees about `bytes` on a full disk, regardless of the limit, and returns the bytes freed.
  func free(_ bytes: Int64) async -> Int64 {
    _ = await budget.waitForCandidates()
    let freed = evictOldest(bytes)
    guard freed < bytes, await budget.rescan() else { return freed }
    return freed + evictOldest(bytes - freed)
  }

  /// Stops freeing in advance for good, and waits until it has ended.
  func close() async {
    isClosed = true
    advance?.cancel()
    await advance?.value
  }

  /// Frees bytes in advance, so that later callers need not wait for room, and not every write
  /// evicts: one entry at a time, so that a caller that needs room meanwhile gets its turn.
  private func freeInAdvance() {
    // Before the first full scan, the oldest known entries need not be old.
    guard advance == nil, !isClosed, let limit = budget.usableLimit,
      budget.index.withLock({ $0.lastScan != nil })
    else { return }
    advance = Task(executorPreference: IOThreads.background) {
      while !Task.isCancelled, await self.freeNext(min(limit / 64, 64 << 20)) {}
    }
  }

  private func freeNext(_ bytes: Int64) -> Bool {
    let shortage = budget.shortage(of: bytes)
    if shortage > 0, evictOldest(shortage, most: 1) > 0 { return true }
    advance = nil
    return false
  }

  /// Evicts the least recently used entries, without suspending, and returns the bytes freed.
  private func evictOldest(_ bytes: Int64, most: Int = .max) -> Int64 {
    let time = budget.wallSeconds
    var (freed, count): (Int64, Int) = (0, 0)
    // Those that others use now.
    var spared: Set<String> = []
    while freed < bytes, count < most {
      let next = budget.index.withLock { [spared] in $0.next(at: time, except: spared) }
      guard let entry = next else { break }
      switch evict(entry, toFree: bytes - freed) {
      case nil: break
      case 0?: spared.insert(entry.name)
      case let gone?: (freed, count) = (freed + gone, count + 1)
      }
    }
    return freed
  }

  /// Removes entries whose time is over.
  func removeOverdue() {
    if isClosed { return }
    let time = budget.wallSeconds
    for entry in budget.index.withLock({ $0.overdue(at: time) }) { _ = evict(entry, toFree: .max) }
  }

  /// Evicts an entry. One of which most may stay only loses its end: the next play needs its
  /// beginning first. Returns the bytes freed: 0 if it is in use; nil if the index has been
  /// corrected, because it is gone, or was used or pinned since it was measured.
  private func evict(_ entry: MeasuredEntry, toFree wanted: Int64) -> Int64? {
    let name = entry.name
    let directory = budget.entryDirectory(named: name)
    do {
      guard let lock = try WriterLock.acquire(directory, waits: false), budget.openKey(name) == nil
      else { return 0 }
      defer { withExtendedLifetime(lock) {} }
      guard let files = try directory.files() else {
        budget.index.withLock { $0.forget(name) }
        return nil
      }
      let found = budget.measured(name, directory, files)
      // The time may also be earlier, if the clock was set back.
      if found.pinnedBytes != nil || found.lastAccess != entry.lastAccess {
        budget.index.withLock { $0.note(found) }
        return nil
      }
      let size = found.allocatedBytes
      let shortens = size / 2 >= wanted && size > 1 << 20
      var key: CacheKey?
      let freed = try budget.changing(name, before: size) {
        key = try directory.evict(shortens ? wanted : nil)
      }
      guard let freed, freed > 0 else { return 0 }
      if let key { report(.evicted(key, bytes: freed)) }
      return freed
    } catch is EntryDirectory.InUse {
      // Another process reads it.
    } catch {
      let text = directory.writtenRecord?.url ?? directory.path
      report(.warning("\(text) could not be evicted: \(error)."))
    }
    return 0
  }
}
