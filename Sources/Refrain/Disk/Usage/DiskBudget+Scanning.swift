// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Scans every entry in the background, to measure the directory and to find entries to evict.
extension DiskBudget {
  struct Scanning: Sendable {
    var task: Task<Void, Never>?
    var isClosed = false
    /// Whether this cache has checked if the directory should be measured.
    var isChecked = false
    /// The number of the running scan, or the last one.
    var number = 0
    /// The number of entries, estimated from the first shard; nil while unknown.
    var expected: Int?
    /// The shards whose entries the scan has measured.
    var measured: Set<String> = []
    /// The bytes freed since then of those it has measured.
    var freed: Int64 = 0
    /// Why the last scan failed.
    var failure: DiskError?
  }

  /// Returns the number of the running scan if it has measured an entry: bytes of that entry freed
  /// from now on are subtracted from the scan's result.
  func scanThatMeasured(_ name: String) -> Int? {
    scanning.withLock { scanning in
      let isMeasured =
        scanning.task != nil && scanning.measured.contains(KeyHash.shard(of: name))
      return isMeasured ? scanning.number : nil
    }
  }

  func noteFreed(_ bytes: Int64, inScan number: Int) {
    scanning.withLock { scanning in
      if scanning.number == number { scanning.freed += bytes }
    }
  }

  /// The age of a measurement, by any cache, after which a cache measures the directory again on
  /// its first write: somebody may have removed files by hand.
  private static let checkInterval: TimeInterval = 3600

  /// Starts a measurement if the usage is a guess, was measured long ago or may be much too high,
  /// or if a writer has died. Only the first call does so.
  func checkUsage() {
    guard let limit else { return }
    let isFirst = scanning.withLock { scanning in
      defer { scanning.isChecked = true }
      return !scanning.isChecked
    }
    guard isFirst else { return }
    let record = usage.update { $0 }
    let age = wallSeconds - record.checkedAt
    let isOld = !(0..<Self.checkInterval).contains(age)
    if record.unchecked != nil || isOld || record.slack > UsageRecord.uncheckedLimit(limit)
      || !LiveWriters.dead(among: record.writers).isEmpty
    {
      startScan()
    }
  }

  /// Starts a scan unless one is running.
  @discardableResult
  func startScan() -> Task<Void, Never>? {
    scanning.withLock { scanning in
      if scanning.isClosed { return nil }
      if let task = scanning.task { return task }
      scanning.number += 1
      scanning.expected = nil
      scanning.measured = []
      scanning.freed = 0
      let task = Task(executorPreference: IOThreads.background) {
        var failure: DiskError?
        do throws(DiskError) {
          try await self.scan()
        } catch {
          failure = error
        }
        self.scanning.withLock { [failure] scanning in
          scanning.task = nil
          scanning.failure = failure
        }
      }
      scanning.task = task
      return task
    }
  }

  /// Scans one shard at a time, because others wait for the same threads.
  private func scan() async throws(DiskError) {
    let began = ContinuousClock.now
    let start = usage.update { $0.beginCheck(dead: LiveWriters.dead(among: $0.writers)) }
    index.withLock { $0.beginScan() }
    // Also if it fails, or is cancelled.
    defer { index.withLock { $0.abandonScan() } }
    var found: Set<String> = []
    var sum = try DiskBudget.allocated(
      [directory, entriesPath, "\(directory)/\(UsageFile.name)"], disk)
    // In random order, so that the first entries are a sample of all.
    let shards = try shards().shuffled()
    for shard in shards {
      if Task.isCancelled { return }
      let names = try names(inShard: shard)
      // Entries are distributed evenly.
      scanning.withLock { if $0.expected == nil { $0.expected = shards.count * names.count } }
      for name in names {
        guard let entry = try measure(name) else { continue }
        sum += entry.allocatedBytes
        found.insert(name)
        index.withLock { $0.note(entry, byScan: true) }
      }
      let path = "\(entriesPath)/\(shard)"
      if names.isEmpty { EntryDirectory.removeIfEmpty(path, disk: disk) }
      sum += try DiskBudget.allocated([path], disk)
      scanning.withLock { _ = $0.measured.insert(shard) }
      await Task.yield()
    }
    // Bytes freed from here on are reported as usual.
    let freed = scanning.withLock { scanning in
      scanning.number += 1
      return scanning.freed
    }
    usage.update { [sum] in
      $0.endCheck(start, measured: max(0, sum - freed), at: wallSeconds)
    }
    index.withLock { [found] in $0.endScan(found: found, began: began, ended: .now) }
  }

  /// The number of entries among which, in a large cache, one was probably not used for long.
  private static let sample = 50

  /// Waits until enough entries are known to select from: `sample` of many, or all of a few; no
  /// longer than `patience` if any is known.
  func waitForCandidates(patience: Duration = .seconds(1)) async {
    let start = ContinuousClock.now
    while index.withLock({ $0.lastScan == nil }) {
      guard let scan = startScan() else { return }
      let count = index.withLock { $0.candidateCount }
      let sample = isScanLong == true ? Self.sample : Self.quickScan
      if count >= sample || (count > 0 && ContinuousClock.now - start > patience) { return }
      do { try await Task.sleep(for: .milliseconds(1)) } catch { return }
      if scanFailure != nil {
        await scan.value
        if scanFailure != nil { return }
      }
    }
  }

  /// Why the last scan failed; nil if it did not.
  var scanFailure: DiskError? { scanning.withLock { $0.failure } }

  /// Whether the usage is known to within `bytes`; if not, another scan may find room. Blocks.
  func isUsageExact(within bytes: Int64) -> Bool { usage.update { $0.slack < bytes } }

  /// Scans every entry again if others may have stored much since the last scan.
  ///
  /// - Parameter onlyIfQuick: whether to wait only for a scan of some milliseconds. A longer one
  ///   continues in the background.
  /// - Returns: whether a scan completed.
  func rescan(onlyIfQuick: Bool = false) async -> Bool {
    guard index.withLock({ $0.isOld(at: .now) }), let task = startScan() else { return false }
    if onlyIfQuick {
      let start = ContinuousClock.now
      while index.withLock({ $0.lastScan == nil }), isScanLong == nil,
        ContinuousClock.now - start < .milliseconds(100)
      {
        do { try await Task.sleep(for: .milliseconds(1)) } catch { return false }
      }
      if isScanLong != false { return false }
    }
    await task.value
    return scanFailure == nil
  }

  /// Whether the running or last scan takes more than some milliseconds; nil while unknown.
  private var isScanLong: Bool? {
    scanning.withLock { $0.expected }.map { $0 > Self.quickScan }
  }

  /// The number of entries that are scanned within some milliseconds.
  private static let quickScan = 500

  /// Waits while the usage is a guess, but no longer than `patience`: nothing should be evicted for
  /// a guess if the exact value is available soon.
  func waitWhileGuessing(patience: Duration = .seconds(1)) async {
    let start = ContinuousClock.now
    while usage.update({ $0.unchecked != nil }), ContinuousClock.now - start < patience {
      guard startScan() != nil else { return }
      do { try await Task.sleep(for: .milliseconds(2)) } catch { return }
      if scanFailure != nil { return }
    }
  }

  /// Returns unused grants; nothing is written after this call. Cancels a running scan and waits
  /// for it.
  func close() async {
    let task = scanning.withLock { scanning in
      scanning.isClosed = true
      return scanning.task
    }
    task?.cancel()
    await task?.value
    await IOThreads.background.run { self.report() }
  }
}
