// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A cache directory: the location of its entries, and its disk usage.
///
/// Opening reads nothing. The bytes used come from `UsageFile`, which all caches of the directory
/// share; a scan in the background finds the entries that can be evicted (`DiskBudget+Scanning`).
final class DiskBudget: Sendable {
  let directory: String
  let disk: any Disk
  private let currentLimit: Mutex<Int64?>
  /// The identity of the current boot.
  let bootIdentity: String
  let usage: UsageFile
  let index = Mutex(EntryIndex())
  let scanning = Mutex(Scanning())
  private let account = Mutex(Account())
  let locks: WriterLocks
  private let hasWarnedOfNoLocks = Atomic(false)
  /// When this cache last removed all private files.
  let privateRemoval = Mutex<Uptime?>(nil)
  private let clock: @Sendable () -> Moment

  /// The most that an open entry usually takes besides its data: its directory and the shard, the
  /// sidecar and its successor, two journals. Reserved before its files are made, and settled when
  /// it is closed.
  static let overhead: Int64 = 32 << 10

  init(
    directory: String, limit: Int64?, disk: any Disk,
    bootIdentity: String = BootIdentity.current, clock: @Sendable @escaping () -> Moment
  ) {
    self.clock = clock
    self.directory = directory
    currentLimit = Mutex(limit)
    self.disk = disk
    self.bootIdentity = bootIdentity
    locks = WriterLocks(directory: directory, disk: disk)
    let entriesPath = "\(directory)/entries"
    let measureEmpty: @Sendable () -> Int64? = {
      // On failure the directory is measured in the background.
      guard let names = try? disk.names(in: entriesPath),
        !names.contains(where: DiskBudget.isShardName)
      else { return nil }
      return try? DiskBudget.allocated([directory, entriesPath], disk)
    }
    usage = UsageFile(
      path: "\(directory)/\(UsageFile.name)", bootIdentity: bootIdentity, disk: disk,
      measureEmpty: measureEmpty, clock: clock)
    LiveWriters.add(account.withLock(\.id))
  }

  deinit { LiveWriters.remove(account.withLock(\.id)) }

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
    try disk.names(in: entriesPath).filter(Self.isShardName)
  }

  private static func isShardName(_ name: String) -> Bool { name.utf8.count == 2 }

  func names(inShard shard: String) throws(DiskError) -> [String] {
    try disk.names(in: "\(entriesPath)/\(shard)").filter(Self.isEntryName)
  }

  static func isEntryName(_ name: String) -> Bool {
    name.utf8.count == 32 && name.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
  }

  // MARK: Room

  /// The most bytes of allocated blocks; nil for no limit.
  var limit: Int64? { currentLimit.withLock { $0 } }

  /// Applies to everything reserved from now on. Call `Evictor.makeRoom` afterwards.
  func setLimit(_ limit: Int64?) {
    let before = currentLimit.withLock { current in
      defer { current = limit }
      return current
    }
    // Without a limit, closed entries are not measured.
    if before == nil, limit != nil { index.withLock { $0.forgetScan() } }
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
  /// Blocks for some ten microseconds, regardless of the number of entries.
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
    if isOverdrawn { update { $0.report(to: &$1) } }
  }

  /// Returns the bytes to free before `bytes` can be reserved. Blocks.
  func shortage(of bytes: Int64) -> Int64 {
    let limit = usableLimit
    return update { $1.shortage(of: max(0, bytes - $0.allowance), limit: limit) }
  }

  /// Gives unused grants back. Blocks.
  func giveBack() { update { $0.report(to: &$1) } }

  @discardableResult
  private func update<Result: Sendable>(
    _ body: (inout Account, inout UsageRecord) -> Result
  ) -> Result {
    usage.update { record in account.withLock { body(&$0, &record) } }
  }

  // MARK: Changing entries

  /// The size of an entry and its shard before a change.
  struct Before: Sendable {
    /// Nil if it could not be measured.
    var bytes: Int64?
    /// Identifies the count by then. What is freed from now on is subtracted from it, and from no
    /// measurement made meanwhile, which may already lack it.
    var measurements: Int64
  }

  /// Begins a change of an entry. Balanced by `conclude`. Blocks.
  func begin(_ name: String) throws(DiskError) -> Before {
    Before(bytes: try sizeWithShard(name), measurements: usage.update(\.measurements))
  }

  /// Settles an entry whose files will not change any more (`Account.conclude`). Blocks.
  ///
  /// - Parameter before: from before anything was written; nil if nothing was.
  /// - Returns: the growth of the entry and its shard; nil if it cannot be measured.
  @discardableResult
  func conclude(_ name: String, reserved bytes: Int64, since before: Before?) -> Int64? {
    let growth: Int64? =
      if let before {
        before.bytes.flatMap { bytes in (try? sizeWithShard(name)).map { $0 - bytes } }
      } else { 0 }
    update { account, record in
      account.conclude(
        name, reserved: bytes, growth: growth,
        isCounted: before.map { $0.measurements == record.measurements } ?? true, in: &record)
      account.report(to: &record)
    }
    return growth
  }

  /// Removes files of an entry that is open for writing here, and subtracts their size. Blocks.
  ///
  /// - Parameter read: how much of it is being read. It stays counted, as reserved: no measurement
  ///   sees it any more.
  func removing(
    _ size: Int64, read: Int64, of name: String, _ remove: () throws(DiskError) -> Void
  ) throws(DiskError) {
    // Reserved first: a measurement that follows no longer sees it.
    let measurements = reserveBeyondLimit(read)
    let result = Result(catching: remove)
    update { account, record in
      switch result {
      case .success:
        account.shrink(name, by: size)
        if record.measurements == measurements { record.free(size) }
      case .failure:
        account.settle(read, actual: 0)
        account.report(to: &record)
      }
    }
    try result.get()
  }

  /// Runs `body`, which removes or shortens an entry, or replaces its record, and subtracts what
  /// that frees. The caller holds the entry's `WriterLock`, and the entry is not open for writing
  /// here. Blocks.
  ///
  /// - Parameter size: the entry's size, if it was just measured.
  /// - Returns: the bytes freed, with those of the entry's shard; nil if that cannot be measured.
  @discardableResult
  func changing<Failure: Error>(
    _ name: String, before size: Int64? = nil, _ body: () throws(Failure) -> Void
  ) throws(Failure) -> Int64? {
    let bytes = try? sizeWithShard(name, known: size)
    let before = Before(bytes: bytes, measurements: reserveBeyondLimit(Self.replacement))
    let result = Result(catching: body)
    // After a failure, too: part of it may have been freed.
    let growth = conclude(name, reserved: Self.replacement, since: before)
    try result.get()
    return growth.map { -$0 }
  }

  /// The copy of a record that is being replaced.
  private static let replacement: Int64 = 8192

  /// - Returns: the number of the count (`Before.measurements`).
  private func reserveBeyondLimit(_ bytes: Int64) -> Int64 {
    update { account, record in
      _ = account.reserve(bytes, limit: nil, from: &record)
      return record.measurements
    }
  }

  /// Returns the size of an entry with its shard, which grows with the number of its entries.
  private func sizeWithShard(_ name: String, known: Int64? = nil) throws(DiskError) -> Int64 {
    let shard = try Self.allocated([entryDirectory(named: name).shardPath], disk)
    if let known { return known + shard }
    return try (measure(name)?.allocatedBytes ?? 0) + shard
  }

  // MARK: Entries

  /// Marks an entry as open: this process does not evict it.
  func markOpen(_ name: String) { index.withLock { $0.markOpen(name) } }

  /// Marks an entry as closed, and measures it once more. Blocks.
  ///
  /// - Parameter isBrief: whether it stays only for a time, also without a limit.
  func markClosed(_ name: String, isBrief: Bool) {
    if limit == nil, !isBrief {
      index.withLock { $0.markClosed(name) }
    } else {
      remeasure(name) { $0.markClosed(name) }
    }
  }

  /// Measures an entry for the index, whose known values remain if that fails. Blocks.
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

  /// Returns the size of an entry and its last access, which is the sidecar's time of change.
  /// Blocks.
  func measure(_ name: String) throws(DiskError) -> MeasuredEntry? {
    let directory = entryDirectory(named: name)
    return try directory.files().map { measured(name, directory, $0) }
  }

  /// As `measure`, of files that were just listed.
  func measured(
    _ name: String, _ directory: EntryDirectory, _ files: EntryDirectory.Files
  ) -> MeasuredEntry {
    let length = files.isPinned ? directory.writtenRecord?.length : nil
    return MeasuredEntry(
      name: name, lastAccess: files.lastAccess, allocatedBytes: files.allocatedBytes,
      pinnedBytes: files.isPinned
        ? EntryDirectory.pinnedBytes(allocated: files.allocatedBytes, length: length) : nil,
      keep: files.keep)
  }

  /// Returns the allocated size of the paths themselves, without the contents of directories; 0 for
  /// a missing one.
  static func allocated(_ paths: [String], _ disk: any Disk) throws(DiskError) -> Int64 {
    var sum: Int64 = 0
    for path in paths { sum += try disk.status(of: path)?.allocated ?? 0 }
    return sum
  }

  /// Records that an entry was used just now (utimensat(2) on its sidecar). Blocks.
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

  /// Claims space for an entry that is about to be pinned. Balanced by `notePinned`.
  ///
  /// - Returns: false if it would not fit beside the other pinned entries.
  func claimPinned(_ bytes: Int64, for name: String) -> Bool {
    let room = pinnableBytes ?? .max
    return index.withLock { $0.claim(bytes, for: name, within: room) }
  }

  /// Measures an entry after its pin was set or removed: if that fails, the claim stays until the
  /// next scan. Blocks.
  func notePinned(_ name: String) { remeasure(name) { $0.endClaim(name) } }
}
