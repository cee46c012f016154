// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Scans every entry in the background, to measure the directory and to find entries to evict.
extension DiskBudget {
  /// Starts a scan unless one is running.
  @discardableResult
  func startScan() -> Task<Void, Never>? {
    index.withLock { index in
      if index.isClosed { return nil }
      if let scan = index.scan { return scan }
      let task = Task(executorPreference: IOThreads.background) {
        var failure: DiskError?
        do throws(DiskError) { try await self.scan() } catch { failure = error }
        let last = self.index.withLock { [failure] index in
          index.scan = nil
          defer { index.scanFailure = failure }
          return index.scanFailure
        }
        guard let failure, failure.code != last?.code else { return }
        self.report(
          .warning(
            "\(self.directory) could not be scanned: \(failure). The last known sizes are used; "
              + "without any, little is stored until a scan succeeds, to stay within the limit."))
      }
      index.scan = task
      return task
    }
  }

  /// Scans one shard at a time, because others wait for the same threads.
  private func scan() async throws(DiskError) {
    let began = ContinuousClock.now
    let start = usage.update { record in
      record.beginMeasurement()
      return record
    }
    index.withLock { $0.beginScan() }
    var sum = try disk.allocated([directory, entriesPath, "\(directory)/\(UsageFile.name)"])
    // In random order, so that the first entries are a sample of all.
    for shard in try shards().shuffled() {
      if Task.isCancelled { return }
      let names = try names(inShard: shard)
      for name in names {
        guard let entry = try measure(name) else { continue }
        sum += entry.allocatedBytes
        index.withLock { $0.note(entry) }
      }
      let path = "\(entriesPath)/\(shard)"
      if names.isEmpty { disk.removeIfEmpty(path) }
      sum += try disk.allocated([path])
      await Task.yield()
    }
    usage.update { [sum] record in
      record.endMeasurement(since: start, measured: sum)
    }
    index.withLock { $0.endScan(began: began, ended: .now) }
  }

  /// The number of entries among which, in a large cache, one was probably not used for long.
  private static let sample = 50
  /// The time in which some thousand entries are scanned: all of most caches.
  private static let quickScan: Duration = .milliseconds(25)

  /// Waits until enough entries are known to select from: all of a few, or a sample of many; and
  /// while the usage is a guess, because nothing should be evicted for a guess if the exact value
  /// is available soon. No longer than a second if any entry is known.
  func waitForCandidates() async {
    let start = ContinuousClock.now
    func isEnough() -> Bool {
      let (isScanned, count) = index.withLock { ($0.lastScan != nil, $0.candidateCount) }
      let time = ContinuousClock.now - start
      let isSample = isScanned || count >= Self.sample && time > Self.quickScan
      if isSample, usage.update({ $0.guess == nil }) { return true }
      return (isScanned || count > 0) && time > .seconds(1)
    }
    guard !isEnough(), let scan = startScan() else { return }
    // If it fails, the next caller starts another one.
    while index.withLock({ $0.scan == scan }), !isEnough() {
      do { try await Task.sleep(for: .milliseconds(1)) } catch { return }
    }
  }

  /// Scans every entry again if others may have stored, or pinned, much since the last scan.
  ///
  /// - Returns: whether a scan completed.
  func rescan() async -> Bool {
    guard index.withLock({ $0.isOld(at: .now) }), let task = startScan() else { return false }
    await task.value
    return index.withLock { $0.scanFailure == nil }
  }

  /// As `rescan`, for the pins of other processes. Without a limit, their number does not matter.
  func knowPinned() async {
    if limit != nil { _ = await rescan() }
  }

  /// Returns unused grants; nothing is written after this call. Cancels a running scan and waits
  /// for it.
  func close() async {
    let scan = index.withLock { index in
      index.isClosed = true
      return index.scan
    }
    scan?.cancel()
    await scan?.value
    await IOThreads.background.run { self.giveBack() }
  }
}
