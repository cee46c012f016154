// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Makes room in a store, one call at a time. Called from tasks on `IOThreads` only: a default
/// actor runs where its caller's task prefers, and everything here blocks.
actor Evictor {
  let budget: DiskBudget
  private let table: EntryTable
  private let report: @Sendable (CacheEvent) -> Void
  /// The next entries to evict, the first one last. Some may have been used since, or be gone.
  private var queue: [MeasuredEntry] = []
  /// Frees more than was needed, for later callers.
  private var advance: Task<Void, Never>?
  private var isClosed = false

  init(
    budget: DiskBudget, table: EntryTable,
    report: @Sendable @escaping (CacheEvent) -> Void
  ) {
    (self.budget, self.table, self.report) = (budget, table, report)
  }

  /// Reserves room for an entry (`DiskBudget.reserve`), after an eviction if need be.
  ///
  /// - Parameters:
  ///   - length: of the entry's resource, if it is known. Nothing is evicted for one that would not
  ///     fit beside the pinned entries: it is stored as far as there is room.
  ///   - evicts: called before each eviction, which may take a while.
  /// - Returns: false if entries in use or pinned fill the limit.
  nonisolated func reserve(
    _ bytes: Int64, for name: String, length: @autoclosure @Sendable () -> Int64?,
    evicts: @Sendable () -> Void = {}
  ) async -> Bool {
    if budget.reserve(bytes) { return true }
    guard budget.canHold(length(), for: name) else { return false }
    // Others may take the room that was made.
    for _ in 0..<4 {
      evicts()
      guard await makeRoom(for: bytes) else { break }
      if budget.reserve(bytes) { return true }
    }
    return false
  }

  /// Frees the room that `bytes` more need, from entries that are not in use.
  ///
  /// - Returns: whether there is room now.
  func makeRoom(for bytes: Int64) async -> Bool {
    guard let limit = budget.usableLimit else { return true }
    // Waits of ten milliseconds for idle entries to be recorded and closed.
    var attempts = 100
    var isReleased = false
    // Those that begin to close later are not waited for: on a busy server there are always some.
    let closing = table.closing
    while budget.shortage(of: bytes) > 0 {
      let isClosing = !closing.isDisjoint(with: table.closing)
      await budget.waitForCandidates()
      // Another caller may have made room in the meantime. From here to the end of the eviction no
      // other call runs.
      let freed = evictOldest(budget.shortage(of: bytes))
      if freed > 0 { freeInAdvance(limit) }
      // A concurrent measurement may still include some of the freed bytes.
      if freed > 0 || budget.shortage(of: bytes) == 0 { continue }
      // Other processes may have stored entries that can be evicted.
      if await budget.rescan() { continue }
      // Entries that are held open only for speed can go once they are recorded, and so can those
      // that are being closed. They may be reopened at once, repeatedly: so the wait is bounded.
      if table.releaseIdle() { isReleased = true }
      guard attempts > 0, isReleased || isClosing else { return false }
      attempts -= 1
      try? await Task.sleep(for: .milliseconds(10))
    }
    return true
  }

  /// Frees about `bytes` on a full disk, regardless of the limit, and returns the bytes freed.
  func free(_ bytes: Int64) async -> Int64 {
    await budget.waitForCandidates()
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
  /// evicts. A caller that needs room meanwhile gets its turn after a few milliseconds.
  private func freeInAdvance(_ limit: Int64) {
    // Before the first full scan, the oldest known entries need not be old: free no more than
    // needed.
    guard advance == nil, !isClosed, budget.index.withLock({ $0.lastScan != nil }) else { return }
    advance = Task(executorPreference: IOThreads.background) {
      while !Task.isCancelled {
        let shortage = self.budget.shortage(of: min(limit / 64, 64 << 20))
        guard shortage > 0, await self.evictOldest(shortage, within: .milliseconds(5)) > 0
        else { break }
        await Task.yield()
      }
      await self.advanceEnded()
    }
  }

  private func advanceEnded() { advance = nil }

  /// Evicts the least recently used entries, without suspending, and returns the bytes freed.
  ///
  /// - Parameter time: the time after which it ends, once anything was freed. The next call with a
  ///   time goes on where it was; one without looks at all entries again.
  private func evictOldest(_ bytes: Int64, within time: Duration? = nil) -> Int64 {
    guard bytes > 0 else { return 0 }
    let start = ContinuousClock.now
    if time == nil { queue = [] }
    var freed = removeOverdue()
    // Looks at all entries since one was evicted: those that were used since they were measured, or
    // could not be evicted, have another place after the first.
    var looks = 0
    while freed < bytes {
      if let time, freed > 0, ContinuousClock.now - start > time { break }
      guard let entry = queue.last else {
        looks += 1
        queue = budget.index.withLock { $0.oldest() }
        if queue.isEmpty || looks > 2 { break }
        continue
      }
      guard budget.index.withLock({ $0.isCurrent(entry) }) else {
        queue.removeLast()
        continue
      }
      let more = evict(entry, toFree: bytes - freed)
      // Nil: it is gone, or has a later place. Others have to be looked at, however many are.
      if more != 0 { looks = 0 }
      freed += more ?? 0
      // One that was shortened may be shortened further.
      if freed < bytes { queue.removeLast() }
    }
    return freed
  }

  /// Removes the entries whose time is over, and returns the bytes freed.
  @discardableResult
  func removeOverdue() -> Int64 {
    if isClosed { return 0 }
    let now = budget.wallSeconds
    return budget.index.withLock { $0.overdue(at: now) }
      .reduce(0) { $0 + (evict($1, toFree: .max) ?? 0) }
  }

  /// Evicts an entry. One of which most may stay is only shortened: its end is dropped, because the
  /// next play needs its beginning first.
  ///
  /// - Returns: the bytes that were freed; nil if the entry is gone, or was used or pinned since it was
  ///   measured. If none were freed, it has another place in the index now: that of its last use, or
  ///   of an entry that is used now.
  private func evict(_ entry: MeasuredEntry, toFree wanted: Int64) -> Int64? {
    let name = entry.name
    let directory = budget.entryDirectory(named: name)
    do {
      let lock = try WriterLock.acquire(directory, waits: false)
      defer { withExtendedLifetime(lock) {} }
      if lock != nil, !budget.isOpen(name), let files = try directory.files() {
        let before = budget.measured(name, directory, files)
        // Another process may have pinned it. The time may also be earlier, if the clock was set
        // back.
        if before.pinnedBytes != nil || before.lastAccess != entry.lastAccess {
          budget.index.withLock { $0.note(before) }
          return before.pinnedBytes != nil || before.lastAccess > entry.lastAccess ? nil : 0
        }
        let shortens = before.allocatedBytes / 2 >= wanted && before.allocatedBytes > 1 << 20
        var key: CacheKey?
        let freed = try budget.changing(name, before: before.allocatedBytes) {
          key = try shortens ? directory.shorten(by: wanted) : directory.removeUnused()
        }
        budget.remeasure(name)
        if let freed, freed > 0 {
          if let key { report(.evicted(key, bytes: freed)) }
          return freed
        }
      } else {
        // It is written or open, or another process has removed it.
        budget.remeasure(name)
        if lock != nil, !budget.isOpen(name) { return nil }
      }
    } catch is EntryDirectory.InUse {
      // Another process reads it.
    } catch {
      report(.warning("\(directory.resourceName) could not be evicted: \(error)."))
    }
    budget.index.withLock { $0.postpone(name, at: budget.wallSeconds) }
    return 0
  }
}
