// SPDX-License-Identifier: MIT
import Foundation
import Synchronization

/// Looking at every entry, in the background: for what the directory takes, and for what may go.
extension DiskBudget {
  struct Scanning: Sendable {
    var task: Task<Void, Never>?
    var isClosed = false
    /// Whether it was looked at whether the directory should be measured.
    var isChecked = false
    /// The number of the scan that runs, or ran last.
    var number = 0
    /// How many entries there are, by its first shard; nil while that is not known.
    var expected: Int?
    /// The shards whose entries it has measured.
    var measured: Set<String> = []
    /// Of what it has measured, what was freed since.
    var freed: Int64 = 0
    /// Why the last scan did not come to its end.
    var failure: DiskError?
  }

  /// The number of the scan that runs, where it has measured an entry: what is freed of that from now on
  /// is taken off what the scan finds.
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

  /// So long after it was measured, by whatever cache, a directory is measured again when it is first
  /// written to: somebody may have removed files by hand.
  private static let checkInterval: TimeInterval = 3600

  /// Has the directory measured where what is used is a guess, or was measured long ago, or a writer
  /// has died.
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

  /// Begins a scan where none runs.
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

  /// A shard at a time, for others wait for the same threads.
  private func scan() async throws(DiskError) {
    let began = ContinuousClock.now
    let start = usage.update { $0.beginCheck(dead: LiveWriters.dead(among: $0.writers)) }
    index.withLock { $0.beginScan() }
    var found: Set<String> = []
    var sum = try DiskBudget.allocated(
      [directory, entriesPath, "\(directory)/\(UsageFile.name)"], disk)
    // In no order, so that the first of them stand for all.
    let shards = try shards().shuffled()
    for shard in shards {
      if Task.isCancelled { return }
      let names = try names(inShard: shard)
      // Entries are spread evenly.
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
    // What is freed from here on is reported as ever.
    let freed = scanning.withLock { scanning in
      scanning.number += 1
      return scanning.freed
    }
    usage.update { [sum] in
      $0.endCheck(start, measured: max(0, sum - freed), at: wallSeconds)
    }
    index.withLock { [found] in $0.endScan(found: found, began: began, ended: .now) }
  }

  /// Among so many of a large cache's entries there is one that was not used for long.
  private static let sample = 50

  /// Waits until enough is known of the entries to choose among them: of many `sample`, of few all; and
  /// no longer than `patience` where any is known.
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

  /// Why the last scan did not come to its end; nil where it did.
  var scanFailure: DiskError? { scanning.withLock { $0.failure } }

  /// Whether what is used is known to within `bytes`; where it is not, another look may show that
  /// there is room. Blocks.
  func isUsageExact(within bytes: Int64) -> Bool { usage.update { $0.slack < bytes } }

  /// Looks at every entry once more where others may have stored much since the last time.
  ///
  /// - Parameter onlyIfQuick: only where there are so few that it takes some milliseconds. It goes on in
  ///   the background where it takes longer.
  /// - Returns: whether it did.
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

  /// Whether the scan that runs, or ran last, takes more than some milliseconds; nil while that is not
  /// known.
  private var isScanLong: Bool? {
    scanning.withLock { $0.expected }.map { $0 > Self.quickScan }
  }

  /// So many entries are looked at within some milliseconds.
  private static let quickScan = 500

  /// Waits while what is used is a guess, but no longer than `patience`: nothing is to be evicted for
  /// a guess where the truth is soon known.
  func waitWhileGuessing(patience: Duration = .seconds(1)) async {
    let start = ContinuousClock.now
    while usage.update({ $0.unchecked != nil }), ContinuousClock.now - start < patience {
      guard startScan() != nil else { return }
      do { try await Task.sleep(for: .milliseconds(2)) } catch { return }
      if scanFailure != nil { return }
    }
  }

  /// Nothing is written any more: what was granted and not used is given back. Waits for a scan to
  /// notice that it is not wanted.
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
