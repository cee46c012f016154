// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// A cache directory: the location of its entries, and its disk usage. Opening reads nothing. All
/// caches of the directory share the count of `UsageFile`; a scan in the background measures the
/// directory, and finds the entries that can be evicted. Most methods block.
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
  private let report: @Sendable (CacheEvent) -> Void

  /// The most that an open entry usually takes besides its data: its directory and the shard, the
  /// sidecar and its successor, two journals. Reserved until it is closed.
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
    try disk.names(in: "\(entriesPath)/\(shard)").filter { name in
      name.utf8.count == 32 && name.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }
  }

  // MARK: Room

  /// The most bytes of allocated blocks; nil for no limit. Call `Evictor.makeRoom` afterwards.
  var limit: Int64? {
    get { currentLimit.withLock(\.self) }
    set { currentLimit.withLock { $0 = newValue } }
  }

  /// Slightly below `limit`: a record that is being replaced briefly exists twice.
  var usableLimit: Int64? { limit.map { $0 - min(32 << 10, $0 / 16) } }

  /// Reserves `bytes` more for an entry, until `settle` or `conclude`; false if there is no room.
  func reserve(_ bytes: Int64) -> Bool {
    if account.withLock({ $0.take(bytes) }) { return true }
    let limit = usableLimit
    // Other caches cannot use the unneeded part of a grant while this one writes.
    let quantum = min(8 << 20, max(64 << 10, (limit ?? .max) / 128))
    let (isGranted, isMeasured) = update { account, record in
      (account.reserve(bytes, quantum: quantum, limit: limit, from: &record), record.isMeasured)
    }
    // A scan that has failed would fail each time.
    if limit != nil, !isMeasured, index.withLock({ $0.scanFailure == nil }) { startScan() }
    return isGranted
  }

  func settle(_ bytes: Int64, actual: Int64, for name: String) {
    let isMore = account.withLock { $0.settle(bytes, actual: actual, for: name) }
    if isMore { update { $0.report(to: &$1) } }
  }

  func shortage(of bytes: Int64) -> Int64 {
    let limit = usableLimit
    return update { $1.shortage(of: max(0, bytes - $0.allowance), limit: limit) }
  }

  /// Reserves `bytes` whatever the limit: they are taken already.
  func hold(_ bytes: Int64) { update { _ = $0.reserve(bytes, limit: nil, from: &$1) } }

  @discardableResult
  private func update<Result: Sendable>(
    _ body: (inout Account, inout UsageRecord) -> Result
  ) -> Result {
    usage.update { record in account.withLock { body(&$0, &record) } }
  }

  // MARK: Changing entries

  /// Begins a change of an entry, for which `bytes` are held whatever the limit, and returns the
  /// entry. One that cannot be measured must not be changed.
  @discardableResult
  func begin(_ name: String, holding bytes: Int64 = 0) throws(DiskError) -> MeasuredEntry? {
    let found = try remeasure(name)
    let size = try sizeWithShard(of: name, found)
    update { account, record in
      account.entries[name] = (size, record.measurements)
      if bytes > 0 { _ = account.reserve(bytes, limit: nil, from: &record) }
    }
    return found
  }

  /// A shard grows with the number of its entries.
  private func sizeWithShard(of name: String, _ found: MeasuredEntry?) throws(DiskError) -> Int64 {
    try (found?.allocatedBytes ?? 0) + disk.allocated([entryDirectory(named: name).shardPath])
  }

  /// Settles the changes of an entry since `begin` or the call before. Returns its growth.
  @discardableResult
  func conclude(_ name: String, reserved bytes: Int64 = 0, isLast: Bool = true) -> Int64 {
    // First: what is measured may lack what other fetches add from here on.
    let before = account.withLock { $0.entries[name] }
    let size = before.flatMap { _ in try? sizeWithShard(of: name, remeasure(name)) }
    return update { account, record in
      account.conclude(
        name, reserved: bytes, size: size, since: before, isLast: isLast, in: &record)
    }
  }

  /// Runs `body`, which changes an entry, and returns the bytes that this freed. The caller holds the
  /// entry's `WriterLock`, and the entry is not open here.
  @discardableResult
  func changing(_ name: String, _ body: (MeasuredEntry?) throws -> Void) throws -> Int64 {
    // The copy of a record that is being replaced.
    let copy: Int64 = 8192
    let found = try begin(name, holding: copy)
    let result = Result { try body(found) }
    // After a failure, too: part of it may have been freed.
    let growth = conclude(name, reserved: copy)
    try result.get()
    return max(0, -growth)
  }

  /// Returns the key of an entry that is open here, or being opened or closed; nil for others.
  func openKey(_ name: String) -> CacheKey? { index.withLock { $0.open[name] } }

  @discardableResult
  func remeasure(_ name: String) throws(DiskError) -> MeasuredEntry? {
    let found = try measure(name)
    index.withLock { index in
      // The first scan finds the others; one that stays only for a time goes without a scan.
      let isNoted = index.scan != nil || index.lastScan != nil || found?.keep != nil
      if let found, isNoted { index.note(found) } else { index.forget(name) }
    }
    return found
  }

  func measure(_ name: String) throws(DiskError) -> MeasuredEntry? {
    let directory = entryDirectory(named: name)
    guard let files = try directory.files() else { return nil }
    let (size, isPinned) = (files.allocatedBytes, files.isPinned)
    let length = isPinned ? directory.writtenRecord?.length : nil
    return MeasuredEntry(
      name: name, lastAccess: files.lastAccess, allocatedBytes: size,
      pinnedBytes: isPinned ? EntryDirectory.pinnedBytes(allocated: size, length: length) : nil,
      keep: files.keep)
  }

  func touch(_ name: String) {
    let now = wallSeconds
    let time = index.withLock { $0.touch(name, at: now) }
    // Failure does no harm: the entry looks older than it is.
    try? disk.setChangeTime(of: entryDirectory(named: name).recordPath, to: time)
  }

  var pinnableBytes: Int64? { usableLimit.map { $0 - Self.overhead } }

  /// Whether the resource would fit beside the other pinned entries.
  func canHold(_ length: Int64?, for name: String) -> Bool {
    guard let length, let pinnableBytes else { return true }
    return length <= pinnableBytes - index.withLock { $0.pinnedBytes(except: [name]) }
  }
}

/// Scans in the background, which measure the directory and find entries to evict.
extension DiskBudget {
  @discardableResult
  func startScan() -> Task<Void, Never> {
    index.withLock { index in
      if let scan = index.scan { return scan }
      let task = Task(executorPreference: IOThreads.background) {
        let failure = await self.scan()
        guard self.index.withLock({ $0.leaveScan(failure) }), let failure else { return }
        self.report(
          .warning(
            "\(self.directory) could not be scanned completely: \(failure). Files that other programs "
              + "remove may stay counted, and little may be stored. Check its permissions."))
      }
      index.scan = task
      return task
    }
  }

  /// Returns why it failed, or why a shard was passed over.
  private func scan() async -> DiskError? {
    let began = ContinuousClock.now
    let start = usage.update { record in
      record.dropDeadWriters()
      return record
    }
    index.withLock { $0.beginScan() }
    var refusal: DiskError?
    do throws(DiskError) {
      var sum = try disk.allocated([directory, entriesPath, "\(directory)/\(UsageFile.name)"])
      // In random order, so that the first entries are a sample of all.
      for shard in try shards().shuffled() {
        if Task.isCancelled { return nil }
        do throws(DiskError) { try measure(shard: shard, &sum, &refusal) } catch {
          refusal = try passed(error)
        }
        // Others wait for the same threads.
        await Task.yield()
      }
      usage.update { [sum, refusal] record in
        // The size of what was passed over is only known as a part of the count.
        if refusal != nil, record.isMeasured { return }
        record.endMeasurement(since: start, measured: refusal == nil ? sum : max(sum, start.used))
      }
    } catch { return error }
    index.withLock { $0.endScan(began: began) }
    return refusal
  }

  /// Without descriptors or memory, all would be passed over.
  private func passed(_ error: DiskError) throws(DiskError) -> DiskError {
    if [EMFILE, ENFILE, ENOMEM].contains(error.code) { throw error }
    return error
  }

  private func measure(
    shard: String, _ sum: inout Int64, _ refusal: inout DiskError?
  ) throws(DiskError) {
    let path = "\(entriesPath)/\(shard)"
    let names = try names(inShard: shard)
    if names.isEmpty { disk.removeIfEmpty(path) }
    sum += try disk.allocated([path])
    for name in names {
      do throws(DiskError) {
        guard let entry = try measure(name) else { continue }
        sum += entry.allocatedBytes
        index.withLock { $0.note(entry) }
      } catch {
        refusal = try passed(error)
      }
    }
  }

  /// Waits until the usage is known, and enough entries to select from: all, or a sample of many; if
  /// that is urgent, a second at most. Returns whether it is known: nothing is evicted for a guess.
  func waitForCandidates(isUrgent: @Sendable () -> Bool = { true }) async -> Bool {
    let isScanned = index.withLock { $0.lastScan != nil }
    if isScanned, usage.update(\.isMeasured) { return true }
    await follow(startScan(), isUrgent) {
      // Among 200 entries, some were probably not used for long.
      (isScanned || index.withLock { $0.count >= 200 }) && usage.update(\.isMeasured)
    }
    return usage.update(\.isMeasured)
  }

  /// Scans again if others may have stored, or pinned, much; `anyway`: in any case, unless scans take
  /// long. Waits as `waitForCandidates`. Returns whether the last complete scan is a recent one.
  @discardableResult
  func rescan(
    anyway: Bool = false, isUrgent: @Sendable () -> Bool = { false }
  ) async -> Bool {
    guard limit != nil, index.withLock({ $0.isOld(anyway) }) else { return false }
    // What was written during a scan that is running may be counted twice.
    if anyway, let running = index.withLock(\.scan) { await follow(running, isUrgent) }
    await follow(startScan(), isUrgent)
    return index.withLock { !$0.isOld() }
  }

  /// Waits until a scan has ended or found enough; a second at most while that is urgent.
  private func follow(
    _ scan: Task<Void, Never>, _ isUrgent: () -> Bool, isEnough: () -> Bool = { false }
  ) async {
    let end = ContinuousClock.now + .seconds(1)
    while .now < end || !isUrgent(), !Task.isCancelled, index.withLock({ $0.scan == scan }),
      !isEnough()
    {
      try? await Task.sleep(for: .milliseconds(1))
    }
  }

  /// Cancels a running scan, and returns unused grants.
  func close() async {
    let scan = index.withLock(\.scan)
    scan?.cancel()
    await scan?.value
    await IOThreads.background.run { self.update { $0.report(to: &$1) } }
  }
}
