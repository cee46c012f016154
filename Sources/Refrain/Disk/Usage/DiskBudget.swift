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
  /// `noLimit` for none.
  private let currentLimit: Atomic<Int64>
  let bootIdentity: String
  let usage: UsageFile
  private let account = Mutex(Account())
  let index = Mutex(EntryIndex())
  let hasCheckedUsage = Atomic(false)
  let locks: WriterLocks
  private let hasWarnedOfNoLocks = Atomic(false)
  private let clock: @Sendable () -> Moment

  /// The most that an open entry usually takes besides its data: its directory and the shard, the
  /// sidecar and its successor, two journals. Reserved before its files are made, and settled when
  /// it is closed.
  static let overhead: Int64 = 32 << 10
  private static let noLimit = Int64.min

  init(
    directory: String, limit: Int64?, disk: any Disk,
    bootIdentity: String = BootIdentity.current, clock: @Sendable @escaping () -> Moment
  ) {
    (self.directory, self.disk, self.clock) = (directory, disk, clock)
    self.bootIdentity = bootIdentity
    currentLimit = Atomic(Self.value(of: limit))
    locks = WriterLocks(directory: directory, disk: disk)
    usage = UsageFile(in: directory, bootIdentity: bootIdentity, disk: disk, clock: clock)
    let id = account.withLock(\.id)
    LiveWriters.own.withLock { _ = $0.insert(id) }
  }

  deinit {
    let id = account.withLock(\.id)
    LiveWriters.own.withLock { _ = $0.remove(id) }
  }

  var entriesPath: String { "\(directory)/entries" }

  /// Makes the cache directory. Blocks.
  ///
  /// - Returns: the attributes that could not be set and are not essential, a sentence each.
  func create() throws(DiskError) -> [String] {
    try disk.makeDirectories(entriesPath)
    do {
      // Only the directory that is entirely ours: the cache may lie in a folder with other files.
      // Set on every opening, because a process may end between the two steps; this costs next to
      // nothing.
      try disk.setStoredMediaAttributes(entriesPath)
      return []
    } catch {
      return [
        "\(entriesPath) could not be excluded from backups and kept readable on a locked device: "
          + "\(error.localizedDescription)"
      ]
    }
  }

  /// Returns, once, why files cannot be locked (`WriterLock.failure`), and what to do about it.
  func warning(ofNoLocks failure: DiskError) -> String? {
    guard !hasWarnedOfNoLocks.exchange(true, ordering: .relaxed) else { return nil }
    let (why, remedy) =
      SystemDisk.isInGroupContainer(directory)
      ? (
        "Files in the app group's container \(directory) are not locked, because the system "
          + "ends an app that is suspended with a lock there.",
        "A directory of the app's own has no such limit."
      )
      : (
        "The file system of \(directory) cannot lock files (\(failure)).",
        "A local directory has no such limit."
      )
    return
      "\(why) Use the directory from one process at a time: several would overwrite each other's "
      + "data. \(remedy)"
  }

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
    get {
      let limit = currentLimit.load(ordering: .acquiring)
      return limit == Self.noLimit ? nil : limit
    }
    set {
      let before = currentLimit.exchange(
        Self.value(of: newValue), ordering: .acquiringAndReleasing)
      // Without a limit, closed entries are not measured.
      if before == Self.noLimit, newValue != nil { index.withLock { $0.forgetScan() } }
    }
  }

  private static func value(of limit: Int64?) -> Int64 {
    limit.map { max($0, noLimit + 1) } ?? noLimit
  }

  /// The limit for all entries and directories together, slightly below `limit`: a record that is
  /// being replaced, or shortened to make room, briefly exists twice.
  var usableLimit: Int64? { limit.map { $0 - min(32 << 10, $0 / 16) } }

  /// The size of one grant. Other caches cannot use the unneeded part of a grant while this one
  /// writes.
  private var quantum: Int64 {
    limit.map { min(8 << 20, max(64 << 10, $0 / 128)) } ?? 8 << 20
  }

  /// Reserves `bytes` more for an entry. Every reservation is settled by `settle` or `conclude`.
  ///
  /// - Returns: false if room has to be made first (`Evictor.makeRoom`).
  func reserve(_ bytes: Int64) -> Bool {
    if account.withLock({ $0.take(bytes) }) { return true }
    let (limit, quantum) = (usableLimit, quantum)
    let isGranted = update { $0.reserve(bytes, quantum: quantum, limit: limit, from: &$1) }
    checkUsage()
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
      account.withLock { $0.settle(read, actual: 0) }
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

  /// - Parameter isBrief: whether the entry stays only for a time.
  func markClosed(_ name: String, isBrief: Bool) {
    // Without a limit nothing else is evicted, and no scan forgets what other programs remove.
    guard limit != nil || isBrief else { return index.withLock { $0.markClosed(name) } }
    remeasure(name) { $0.markClosed(name) }
  }

  /// Measures an entry for the index, whose known values remain if that fails.
  ///
  /// - Parameter change: a change of the index that belongs to it.
  func remeasure(_ name: String, with change: (inout EntryIndex) -> Void = { _ in }) {
    let measured = Result { () throws(DiskError) in try measure(name) }
    index.withLock { index in
      change(&index)
      guard case .success(let entry) = measured else { return }
      if let entry { index.note(entry) } else { index.forget(name) }
    }
  }

  func isOpen(_ name: String) -> Bool { index.withLock { $0.isOpen(name) } }

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

  /// The wall-clock time, in seconds since 1970.
  var wallSeconds: Double { clock().wall.timeIntervalSince1970 }

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

  /// See `EntryIndex.claim`. Balanced by `notePinned`.
  func claimPinned(_ bytes: Int64, for name: String) -> Bool {
    let room = pinnableBytes ?? .max
    return index.withLock { $0.claim(bytes, for: name, within: room) }
  }

  /// Measures an entry after its pin was set or removed: if that fails, the claim stays until the
  /// next scan.
  func notePinned(_ name: String) { remeasure(name) { $0.endClaim(name) } }
}
