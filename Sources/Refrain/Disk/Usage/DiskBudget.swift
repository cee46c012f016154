// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// A cache directory: the location of its entries, and its disk usage.
///
/// Opening reads nothing. The bytes used come from `UsageFile`, which all caches of the directory
/// share; a scan in the background finds the entries that can be evicted (`DiskBudget+Scanning`).
/// Most methods block on the disk.
final class DiskBudget: Sendable {
  let directory: String
  let disk: any Disk
  let bootIdentity: String
  let locks: WriterLocks
  let usage: UsageFile
  private let account = Mutex(Account())
  let index = Mutex(EntryIndex())
  private let currentLimit: Mutex<Int64?>
  private let hasCheckedUsage = Atomic(false)
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
    locks = WriterLocks(directory: directory, disk: disk)
    usage = UsageFile(in: directory, bootIdentity: bootIdentity, disk: disk)
  }

  /// The wall-clock time, in seconds since 1970.
  var wallSeconds: Double { clock().wall.timeIntervalSince1970 }

  // MARK: The directory

  static func entriesPath(in directory: String) -> String { "\(directory)/entries" }

  var entriesPath: String { Self.entriesPath(in: directory) }

  func entryDirectory(named name: String) -> EntryDirectory {
    EntryDirectory(
      path: "\(entriesPath)/\(KeyHash.shard(of: name))/\(name)", disk: disk,
      bootIdentity: bootIdentity, locks: locks)
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
    set {
      let before = currentLimit.withLock { limit in
        defer { limit = newValue }
        return limit
      }
      // Without a limit, closed entries are not measured.
      if before == nil, newValue != nil { index.withLock { $0.forgetScan() } }
    }
  }

  /// The limit for all entries and directories together, slightly below `limit`: a record that is
  /// being replaced, or shortened to make room, briefly exists twice.
  var usableLimit: Int64? { limit.map { $0 - min(32 << 10, $0 / 16) } }

  /// Reserves `bytes` more for an entry. Every reservation is settled by `settle` or `conclude`.
  ///
  /// - Returns: false if room has to be made first (`Evictor.makeRoom`).
  func reserve(_ bytes: Int64) -> Bool {
    if account.withLock({ $0.take(bytes) }) { return true }
    let limit = usableLimit
    // Other caches cannot use the unneeded part of a grant while this one writes.
    let quantum = limit.map { min(8 << 20, max(64 << 10, $0 / 128)) } ?? 8 << 20
    let (isGranted, isDoubtful) = update { account, record in
      (account.reserve(bytes, quantum: quantum, limit: limit, from: &record), record.isDoubtful)
    }
    // Only once: a scan that fails would fail each time.
    if limit != nil, isDoubtful, !hasCheckedUsage.exchange(true, ordering: .relaxed) { startScan() }
    return isGranted
  }

  /// Replaces a reservation by the bytes that the entry's files grew by.
  func settle(_ bytes: Int64, actual: Int64, for name: String) {
    let isOverdrawn = account.withLock { account in
      account.settle(bytes, actual: actual, for: name)
      return account.allowance < 0
    }
    if isOverdrawn { giveBack() }
  }

  /// Returns the bytes to free before `bytes` can be reserved.
  func shortage(of bytes: Int64) -> Int64 {
    let limit = usableLimit
    return update { $1.shortage(of: max(0, bytes - $0.allowance), limit: limit) }
  }

  /// See `Account.report`.
  func giveBack() { update { $0.report(to: &$1) } }

  @discardableResult
  private func update<Result: Sendable>(
    _ body: (inout Account, inout UsageRecord) -> Result
  ) -> Result {
    usage.update { record in account.withLock { body(&$0, &record) } }
  }

  // MARK: Changing entries

  /// What is known before an entry is changed.
  struct Before: Sendable {
    /// The size of the entry and its shard; nil if it could not be measured.
    var bytes: Int64?
    /// Identifies the count by then. What is freed from now on is subtracted from it, and from no
    /// measurement made meanwhile, which may already lack it.
    var measurements: Int64
  }

  /// Begins a change of an entry. Balanced by `conclude`.
  func begin(_ name: String) throws(DiskError) -> Before {
    Before(bytes: try sizeWithShard(name), measurements: usage.update(\.measurements))
  }

  /// Settles an entry whose files will not change any more (`Account.conclude`).
  ///
  /// - Parameter before: from before anything was written; nil if nothing was.
  /// - Returns: the growth of the entry and its shard; nil if it cannot be measured.
  @discardableResult
  func conclude(_ name: String, reserved bytes: Int64, since before: Before?) -> Int64? {
    var growth: Int64? = 0
    if let before {
      growth = before.bytes.flatMap { bytes in (try? sizeWithShard(name)).map { $0 - bytes } }
    }
    update { [growth] account, record in
      account.conclude(
        name, reserved: bytes, growth: growth,
        isCounted: before.map { $0.measurements == record.measurements } ?? true, in: &record)
    }
    return growth
  }

  /// Removes files of an entry that is open for writing here, and subtracts their size.
  ///
  /// - Parameter read: how much of it is being read. It stays counted, as reserved: no measurement
  ///   sees it any more.
  func removing(
    _ size: Int64, read: Int64, of name: String, _ remove: () throws(DiskError) -> Void
  ) throws(DiskError) {
    // Reserved first: a measurement that follows no longer sees it.
    let measurements = reserveBeyondLimit(read)
    do throws(DiskError) {
      try remove()
    } catch {
      settle(read, actual: 0, for: name)
      giveBack()
      throw error
    }
    update { account, record in
      account.shrink(name, by: size)
      if record.measurements == measurements { record.free(size) }
    }
  }

  /// Runs `body`, which removes or shortens an entry, or replaces its record, and subtracts what
  /// that frees. The caller holds the entry's `WriterLock`, and the entry is not open for writing
  /// here.
  ///
  /// - Parameter size: the entry's size, if it was just measured.
  /// - Returns: the bytes freed, with those of the entry's shard; nil if that cannot be measured.
  @discardableResult
  func changing<Failure: Error>(
    _ name: String, before size: Int64? = nil, _ body: () throws(Failure) -> Void
  ) throws(Failure) -> Int64? {
    // The copy of a record that is being replaced.
    let copy: Int64 = 8192
    let bytes = try? sizeWithShard(name, known: size)
    let before = Before(bytes: bytes, measurements: reserveBeyondLimit(copy))
    let result = Result(catching: body)
    // After a failure, too: part of it may have been freed.
    let growth = conclude(name, reserved: copy, since: before)
    try result.get()
    return growth.map { -$0 }
  }

  /// - Returns: see `Before.measurements`.
  private func reserveBeyondLimit(_ bytes: Int64) -> Int64 {
    update { account, record in
      _ = account.reserve(bytes, limit: nil, from: &record)
      return record.measurements
    }
  }

  /// Returns the size of an entry with its shard, which grows with the number of its entries.
  private func sizeWithShard(_ name: String, known: Int64? = nil) throws(DiskError) -> Int64 {
    let shard = try disk.allocated([entryDirectory(named: name).shardPath])
    if let known { return known + shard }
    return try (measure(name)?.allocatedBytes ?? 0) + shard
  }

  // MARK: Entries

  func isOpen(_ name: String) -> Bool { index.withLock { $0.isOpen(name) } }

  /// - Parameter isBrief: whether the entry stays only for a time.
  func markClosed(_ name: String, isBrief: Bool) {
    // Without a limit nothing else is evicted, and no scan forgets what other programs remove.
    if limit != nil || isBrief { remeasure(name) }
    index.withLock { $0.markClosed(name) }
  }

  /// Measures an entry for the index, whose known values remain if that fails.
  func remeasure(_ name: String) {
    guard case .success(let found) = Result(catching: { try measure(name) }) else { return }
    index.withLock { index in
      if let found { index.note(found) } else { index.forget(name) }
    }
  }

  func measure(_ name: String) throws(DiskError) -> MeasuredEntry? {
    let directory = entryDirectory(named: name)
    return try directory.files().map { measured(name, directory, $0) }
  }

  /// As `measure`, of files that were just listed.
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

  /// Records that an entry was used just now (utimensat(2) on its sidecar).
  func touch(_ name: String) {
    let now = wallSeconds
    let time = index.withLock { $0.touch(name, at: now) }
    // Failure does no harm: the entry looks older than it is.
    try? disk.setChangeTime(of: entryDirectory(named: name).recordPath, to: time)
  }

  // MARK: Pinned entries

  /// The most that pinned entries may claim together; nil for no limit.
  var pinnableBytes: Int64? { usableLimit.map { $0 - Self.overhead } }

  /// Returns the disk space that all pinned entries but some claim, of those known.
  func pinnedBytes(except names: Set<String>) -> Int64 {
    index.withLock { $0.pinnedBytes(except: names) }
  }

  /// Whether a resource of that length, if it is known, would fit if nothing else were stored besides
  /// the pinned entries.
  ///
  /// - Parameter name: the resource's entry, which may be pinned itself.
  func canHold(_ length: Int64?, for name: String) -> Bool {
    guard let length, let pinnableBytes else { return true }
    return length <= pinnableBytes - pinnedBytes(except: [name])
  }

  /// See `EntryIndex.claim`. Call `remeasure` once the entry is pinned, or is not.
  func claimPinned(_ bytes: Int64, for name: String) -> Bool {
    let room = pinnableBytes ?? .max
    return index.withLock { $0.claim(bytes, for: name, within: room) }
  }
}
