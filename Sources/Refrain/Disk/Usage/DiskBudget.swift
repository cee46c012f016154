// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// A cache directory: the location of its entries, and its disk usage.
///
/// Opening reads nothing. The bytes used come from `UsageFile`, which all caches of the directory
/// share; a scan in the background measures the directory, and finds the entries that can be evicted.
/// Most methods block on the disk.
final class DiskBudget: Sendable {
  let directory: String
  let disk: any Disk
  let bootIdentity: String
  /// Whether a warning has said that the file system cannot lock.
  let hasReportedLocks = Atomic(false)
  let usage: UsageFile
  private let account = Mutex(Account())
  let index = Mutex(EntryIndex())
  private let currentLimit: Mutex<Int64?>
  private let clock: @Sendable () -> Moment
  /// Receives the warnings of failed scans.
  let report: @Sendable (CacheEvent) -> Void

  /// The most that an open entry usually takes besides its data: its directory and the shard, the
  /// sidecar and its successor, two journals. Reserved before its files are made, and settled when
  /// it is closed.
  static let overhead: Int64 = 32 << 10

  init(
    directory: String, limit: Int64?, disk: any Disk,
    bootIdentity: String = BootIdentity.current, clock: @Sendable @escaping () -> Moment,
    report: @Sendable @escaping (CacheEvent) -> Void = { _ in }
  ) {
    (self.directory, self.disk, self.bootIdentity) = (directory, disk, bootIdentity)
    (self.clock, self.report) = (clock, report)
    currentLimit = Mutex(limit)
    usage = UsageFile(in: directory, bootIdentity: bootIdentity, disk: disk)
  }

  var wallSeconds: Double { clock().wall.timeIntervalSince1970 }

  // MARK: The directory

  static func entriesPath(in directory: String) -> String { "\(directory)/entries" }

  var entriesPath: String { Self.entriesPath(in: directory) }

  func entryDirectory(named name: String) -> EntryDirectory {
    EntryDirectory(
      path: "\(entriesPath)/\(KeyHash.shard(of: name))/\(name)", disk: disk,
      bootIdentity: bootIdentity)
  }

  func shards() throws(DiskError) -> [String] {
    try disk.names(in: entriesPath).filter { $0.utf8.count == 2 }
  }

  func names(inShard shard: String) throws(DiskError) -> [String] {
    try disk.names(in: "\(entriesPath)/\(shard)").filter(Self.isEntryName)
  }

  static func isEntryName(_ name: String) -> Bool {
    name.utf8.count == 32 && name.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
  }

  // MARK: Room

  /// The most bytes of allocated blocks; nil for no limit. Applies to everything reserved from now
  /// on: call `Evictor.makeRoom` afterwards.
  var limit: Int64? {
    get { currentLimit.withLock(\.self) }
    set { currentLimit.withLock { $0 = newValue } }
  }

  /// The limit for all entries and directories together, slightly below `limit`: a record that is
  /// being replaced, or shortened to make room, briefly exists twice.
  var usableLimit: Int64? { limit.map { $0 - min(32 << 10, $0 / 16) } }

  /// Reserves `bytes` more for an entry, until `settle` or `conclude`. False if room has to be made
  /// first (`Evictor.makeRoom`).
  func reserve(_ bytes: Int64) -> Bool {
    if account.withLock({ $0.take(bytes) }) { return true }
    let limit = usableLimit
    // Other caches cannot use the unneeded part of a grant while this one writes.
    let quantum = limit.map { min(8 << 20, max(64 << 10, $0 / 128)) } ?? 8 << 20
    let (isGranted, isMeasured) = update { account, record in
      (account.reserve(bytes, quantum: quantum, limit: limit, from: &record), record.isMeasured)
    }
    // A scan that has failed would fail each time.
    let mayScan = index.withLock { $0.scanFailure == nil && $0.isOld(at: .now) }
    if limit != nil, !isMeasured, mayScan { startScan() }
    return isGranted
  }

  func settle(_ bytes: Int64, actual: Int64, for name: String) {
    let isOverdrawn = account.withLock { account in
      account.settle(bytes, actual: actual, for: name)
      return account.allowance < 0
    }
    if isOverdrawn { giveBack() }
  }

  func shortage(of bytes: Int64) -> Int64 {
    let limit = usableLimit
    return update { $1.shortage(of: max(0, bytes - $0.allowance), limit: limit) }
  }

  private func giveBack() { update { $0.report(to: &$1) } }

  /// Reserves `bytes` whatever the limit: they are taken already, or are few and freed soon.
  func hold(_ bytes: Int64) { update { _ = $0.reserve(bytes, limit: nil, from: &$1) } }

  @discardableResult
  private func update<Result: Sendable>(
    _ body: (inout Account, inout UsageRecord) -> Result
  ) -> Result {
    usage.update { record in account.withLock { body(&$0, &record) } }
  }

  // MARK: Changing entries

  /// What is known before an entry is changed.
  struct Before: Sendable {
    /// The size of the entry and its shard, which grows with the number of its entries; nil if it
    /// could not be measured.
    var bytes: Int64?
    /// Identifies the count by then. What is freed from now on is subtracted from it, and from no
    /// measurement made meanwhile, which may already lack it.
    var measurements: Int64
  }

  /// Begins a change of an entry, which `conclude` ends. `size` is the entry's, if it was just
  /// measured.
  func begin(_ name: String, size: Int64? = nil) -> Before {
    let bytes = withShard(of: name, size ?? remeasure(name))
    return Before(bytes: bytes, measurements: usage.update(\.measurements))
  }

  private func withShard(of name: String, _ size: Int64?) -> Int64? {
    let shard = try? disk.allocated([entryDirectory(named: name).shardPath])
    return size.flatMap { size in shard.map { size + $0 } }
  }

  /// Settles the changes of an entry since `begin` or the last call (`Account.conclude`). `before`
  /// is nil if nothing was written. Returns what is known before further changes.
  @discardableResult
  func conclude(_ name: String, reserved bytes: Int64 = 0, since before: Before?) -> Before {
    // First: what is measured may lack what other fetches add from here on.
    let counted = account.withLock { $0.takeGrowth(of: name) }
    var (size, growth): (Int64?, Int64?) = (nil, 0)
    if let before {
      size = withShard(of: name, remeasure(name))
      growth = before.bytes.flatMap { bytes in size.map { $0 - bytes } }
    }
    // If the growth is unknown, the reserve counts as written.
    return update { [size, rest = growth.map { $0 - counted } ?? bytes] account, record in
      let isCounted = before.map { $0.measurements == record.measurements } ?? true
      account.conclude(reserved: bytes, actual: rest, isCounted: isCounted, in: &record)
      return Before(bytes: size, measurements: record.measurements)
    }
  }

  /// Runs `body`, which removes or shortens an entry, or replaces its record, and returns the bytes
  /// that this freed, with those of the entry's shard; nil if that cannot be measured. The caller
  /// holds the entry's `WriterLock`, and the entry is not open for writing here.
  @discardableResult
  func changing<Failure: Error>(
    _ name: String, before size: Int64? = nil, _ body: () throws(Failure) -> Void
  ) throws(Failure) -> Int64? {
    // The copy of a record that is being replaced.
    let copy: Int64 = 8192
    let before = begin(name, size: size)
    hold(copy)
    let result = Result(catching: body)
    // After a failure, too: part of it may have been freed.
    let after = conclude(name, reserved: copy, since: before)
    try result.get()
    return before.bytes.flatMap { bytes in after.bytes.map { bytes - $0 } }
  }

  // MARK: Entries

  func openKey(_ name: String) -> CacheKey? { index.withLock { $0.openKey(name) } }

  /// Measures an entry for the index, whose known values remain if that fails.
  @discardableResult
  func remeasure(_ name: String) -> Int64? {
    let measured = Result { () throws(DiskError) in try measure(name) }
    guard case .success(let found) = measured else { return nil }
    index.withLock { index in
      // The first scan finds the others; one that stays only for a time goes without a scan.
      guard let found, index.isFollowed || found.keep != nil else { return index.forget(name) }
      index.note(found)
    }
    return found?.allocatedBytes ?? 0
  }

  func measure(_ name: String) throws(DiskError) -> MeasuredEntry? {
    let directory = entryDirectory(named: name)
    return try directory.files().map { measured(name, directory, $0) }
  }

  func measured(
    _ name: String, _ directory: EntryDirectory, _ files: EntryDirectory.Files
  ) -> MeasuredEntry {
    var entry = MeasuredEntry(
      name: name, lastAccess: files.lastAccess, allocatedBytes: files.allocatedBytes,
      keep: files.keep)
    if files.isPinned {
      entry.pinnedBytes = EntryDirectory.pinnedBytes(
        allocated: files.allocatedBytes, length: directory.writtenRecord?.length)
    }
    return entry
  }

  func touch(_ name: String) {
    let now = wallSeconds
    let time = index.withLock { $0.touch(name, at: now) }
    // Failure does no harm: the entry looks older than it is.
    try? disk.setChangeTime(of: entryDirectory(named: name).recordPath, to: time)
  }

  // MARK: Pinned entries

  var pinnableBytes: Int64? { usableLimit.map { $0 - Self.overhead } }

  func pinnedBytes(except names: Set<String>) -> Int64 {
    index.withLock { $0.pinnedBytes(except: names) }
  }

  /// Whether the resource would fit if only the other pinned entries were stored.
  func canHold(_ length: Int64?, for name: String) -> Bool {
    guard let length, let pinnableBytes else { return true }
    return length <= pinnableBytes - pinnedBytes(except: [name])
  }
}

/// Scans of every entry in the background, to measure the directory and to find entries to evict.
extension DiskBudget {
  @discardableResult
  func startScan() -> Task<Void, Never> {
    index.withLock { index in
      if let scan = index.scan { return scan }
      let task = Task(executorPreference: IOThreads.background) {
        var failure: DiskError?
        do throws(DiskError) { failure = try await self.scan() } catch { failure = error }
        let last = self.index.withLock { [failure] index in
          index.leaveScan()
          defer { index.scanFailure = failure }
          return index.scanFailure
        }
        guard let failure, failure.code != last?.code else { return }
        self.report(
          .warning(
            "\(self.directory) could not be scanned completely: \(failure). Until it can be, files "
              + "that other programs remove stay counted; if the directory itself cannot be read, and "
              + "no size is known, little is stored, to stay within the limit. Check its permissions."
          ))
      }
      index.scan = task
      return task
    }
  }

  /// Returns why a shard or an entry was passed over; nil if none was.
  private func scan() async throws(DiskError) -> DiskError? {
    let began = ContinuousClock.now
    let start = usage.update { record in
      record.beginMeasurement()
      return record
    }
    index.withLock { $0.beginScan() }
    var sum = try disk.allocated([directory, entriesPath, "\(directory)/\(UsageFile.name)"])
    var failure: DiskError?
    // What may stay unreadable for good does not keep the rest from being measured.
    func passOver(_ error: DiskError) throws(DiskError) {
      if [EMFILE, ENFILE, ENOMEM].contains(error.code) { throw error }
      failure = error
    }
    // In random order, so that the first entries are a sample of all.
    for shard in try shards().shuffled() {
      if Task.isCancelled { return nil }
      do throws(DiskError) {
        let path = "\(entriesPath)/\(shard)"
        let names = try names(inShard: shard)
        if names.isEmpty { disk.removeIfEmpty(path) }
        sum += try disk.allocated([path])
        for name in names {
          do throws(DiskError) {
            guard let entry = try measure(name) else { continue }
            sum += entry.allocatedBytes
            index.withLock { $0.note(entry) }
          } catch { try passOver(error) }
        }
      } catch { try passOver(error) }
      // Others wait for the same threads.
      await Task.yield()
    }
    // The size of what was passed over is only known as a part of the count, which then stays.
    if failure != nil { sum = max(sum, start.used) }
    usage.update { [sum, isPartial = failure != nil] record in
      if isPartial, record.isMeasured, sum == start.used { return }
      record.endMeasurement(since: start, measured: sum)
    }
    index.withLock { $0.endScan(began: began, ended: .now) }
    return failure
  }

  /// Waits until the usage is known, and enough entries to select from: all of a few, or a sample of
  /// many. No longer than a second. Returns whether the usage is known: nothing is evicted for a guess.
  func waitForCandidates() async -> Bool {
    let start = ContinuousClock.now
    var scan: Task<Void, Never>?
    while true {
      let (isScanned, count, running) = index.withLock { ($0.lastScan != nil, $0.count, $0.scan) }
      let isKnown = usage.update(\.isMeasured)
      // Among 200 entries, some were probably not used for long.
      if isKnown, isScanned || running != nil && count >= 200 { return true }
      if .now - start > .seconds(1) { return isKnown }
      // If it has failed, the next caller starts another one.
      if scan != nil, scan != running { return isKnown }
      scan = startScan()
      do { try await Task.sleep(for: .milliseconds(1)) } catch { return isKnown }
    }
  }

  /// Scans every entry again if others may have stored, or pinned, much since the last scan.
  /// Returns whether a scan completed.
  @discardableResult
  func rescan() async -> Bool {
    let last = index.withLock { $0.lastScan?.ended }
    guard index.withLock({ $0.isOld(at: .now) }) else { return false }
    await startScan().value
    return index.withLock { $0.lastScan?.ended != last }
  }

  /// As `rescan`, for the pins of other processes. Without a limit, their number does not matter.
  func knowPinned() async { if limit != nil { await rescan() } }

  /// Returns unused grants, after the end of a running scan, which is cancelled.
  func close() async {
    let scan = index.withLock(\.scan)
    scan?.cancel()
    await scan?.value
    await IOThreads.background.run { self.giveBack() }
  }
}
