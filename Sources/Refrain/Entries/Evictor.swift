// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Makes room in a store, one call at a time. Called from tasks on `IOThreads` only: a default
/// actor runs where its caller's task prefers, and everything here blocks.
actor Evictor {
  let budget: DiskBudget
  private let table: EntryTable
  private let report: @Sendable (CacheEvent) -> Void
  /// The code of the last failure of a scan, which is reported once.
  private var scanFailure: Int32?
  /// Frees more than was needed, for later callers.
  private var advance: Task<Void, Never>?
  private var isClosed = false

  init(
    budget: DiskBudget, table: EntryTable,
    report: @Sendable @escaping (CacheEvent) -> Void
  ) {
    (self.budget, self.table, self.report) = (budget, table, report)
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
    let latestClosing = table.latestClosing
    var isClosing = table.isClosing(since: latestClosing)
    while budget.shortage(of: bytes) > 0 {
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
      isClosing = table.isClosing(since: latestClosing)
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
  /// - Parameter time: the time after which it ends, once anything was freed.
  private func evictOldest(_ bytes: Int64, within time: Duration? = nil) -> Int64 {
    reportScanFailure()
    guard bytes > 0 else { return 0 }
    let start = ContinuousClock.now
    var freed = removeOverdue()
    var spared: Set<String> = []
    var used: Set<String> = []
    while freed < bytes,
      let entry = budget.index.withLock({ [spared] in $0.oldest(except: spared) })
    {
      // Selecting an entry may already have taken longer than `time`.
      if let time, freed > 0, ContinuousClock.now - start > time { break }
      let more = evict(entry, toFree: bytes - freed)
      freed += more ?? 0
      // An entry that was used since is ranked again, and may have its turn once more.
      if more == 0 || (more == nil && !used.insert(entry.name).inserted) {
        spared.insert(entry.name)
      }
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

  private func reportScanFailure() {
    let failure = budget.index.withLock(\.scanFailure)
    defer { scanFailure = failure?.code }
    guard let failure, failure.code != scanFailure else { return }
    report(
      .warning(
        "\(budget.directory) could not be scanned: \(failure). The last known sizes are used; "
          + "without any, little is stored until a scan succeeds, to stay within the limit."
      ))
  }

  /// Evicts an entry. One of which most may stay is only shortened: its end is dropped, because the
  /// next play needs its beginning first.
  ///
  /// - Returns: the bytes that were freed; nil if the entry was used or pinned since it was measured:
  ///   it has another place in the index now.
  private func evict(_ entry: MeasuredEntry, toFree wanted: Int64) -> Int64? {
    let name = entry.name
    let directory = budget.entryDirectory(named: name)
    do {
      let lock = try WriterLock.acquire(directory, waits: false)
      defer { withExtendedLifetime(lock) {} }
      guard lock != nil, !budget.isOpen(name), let files = try directory.files() else {
        // It is written or open, or another process has removed it.
        budget.remeasure(name)
        return 0
      }
      let before = budget.measured(name, directory, files)
      // Another process may have pinned it. The time may also be earlier, if the clock was set back.
      if before.pinnedBytes != nil || before.lastAccess != entry.lastAccess {
        budget.index.withLock { $0.note(before) }
        return nil
      }
      let shortens = before.allocatedBytes / 2 >= wanted && before.allocatedBytes > 1 << 20
      var key: CacheKey?
      let freed = try budget.changing(name, before: before.allocatedBytes) {
        key = try shortens ? directory.shorten(by: wanted) : directory.removeUnused(files)
      }
      budget.remeasure(name)
      guard let freed, freed > 0 else { return 0 }
      if let key { report(.evicted(key, bytes: freed)) }
      return freed
    } catch is EntryDirectory.InUse {
      // Another process reads it, so it was last used now.
      budget.index.withLock { _ = $0.touch(name, at: budget.wallSeconds) }
    } catch {
      report(.warning("\(directory.resourceName) could not be evicted: \(error)."))
    }
    return 0
  }
}
