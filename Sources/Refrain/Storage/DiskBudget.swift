// SPDX-License-Identifier: MIT
import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A cache directory: where entries lie in it, and what it takes on disk.
///
/// Opening reads nothing. What is used is known from `UsageFile`, which all caches of the directory
/// share; what could go is found by a scan in the background (`DiskBudget+Scanning`).
final class DiskBudget: Sendable {
  let directory: String
  let disk: any Disk
  let limit: Int64?
  /// This run of the machine.
  let bootIdentity: String
  let usage: UsageFile
  let index = Mutex(EntryIndex())
  let scanning = Mutex(Scanning())
  private let account = Mutex(Account())
  private let syncs = DirectorySyncs()
  let locks: WriterLocks
  /// Names this cache among the writers of `usage`.
  let id: UInt64
  private let clock: @Sendable () -> Moment

  /// What an open entry takes besides its data, at most and as a rule: its directory and the shard,
  /// the sidecar and its successor, two journals. Asked for before its files are made, and settled
  /// when it is closed.
  static let overhead: Int64 = 32 << 10

  init(
    directory: String, limit: Int64?, disk: any Disk,
    bootIdentity: String = BootIdentity.current, clock: @Sendable @escaping () -> Moment
  ) {
    self.clock = clock
    self.directory = directory
    self.limit = limit
    self.disk = disk
    self.bootIdentity = bootIdentity
    locks = WriterLocks(directory: directory, disk: disk)
    let entriesPath = "\(directory)/entries"
    let measureEmpty: @Sendable () -> Int64? = {
      // Where it cannot be looked up, it is measured in the background.
      guard let names = try? disk.names(in: entriesPath),
        !names.contains(where: DiskBudget.isShardName)
      else { return nil }
      return try? DiskBudget.allocated([directory, entriesPath], disk)
    }
    usage = UsageFile(
      path: "\(directory)/\(UsageFile.name)", bootIdentity: bootIdentity, disk: disk,
      measureEmpty: measureEmpty, clock: clock)
    id = account.withLock { $0.id }
    LiveWriters.add(id)
  }

  deinit { LiveWriters.remove(id) }

  var entriesPath: String { "\(directory)/entries" }

  /// Makes the cache directory. Blocks.
  ///
  /// - Returns: what could not be had, but can be done without, a sentence each.
  func create() throws -> [String] {
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try disk.makeDirectory(entriesPath)
    do {
      // For what is all ours: an app may have put the cache into a folder that has other things in
      // it. Each time, for a process may have ended between the two; it costs next to nothing.
      try disk.setStoredMediaAttributes(entriesPath)
      return []
    } catch {
      return [
        "\(entriesPath) could not be kept out of backups and readable while the device is locked: "
          + "\(error.localizedDescription)"
      ]
    }
  }

  func entryDirectory(named name: String) -> EntryDirectory {
    EntryDirectory(
      path: "\(entriesPath)/\(KeyHash.shard(of: name))/\(name)", disk: disk,
      bootIdentity: bootIdentity, syncs: syncs, locks: locks)
  }

  /// The names of all entries. Blocks.
  func names() throws(DiskError) -> [String] {
    var names: [String] = []
    for shard in try shards() { names += try self.names(inShard: shard) }
    return names
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

  enum Grant: Sendable {
    case granted
    /// Room has to be made first: `Evictor.makeRoom`.
    case needsRoom
  }

  /// What all entries and directories may take: somewhat less than the limit, for a record that is
  /// replaced, or shortened to make room, is there twice for a moment.
  var usableLimit: Int64? { limit.map { $0 - min(32 << 10, $0 / 16) } }

  /// How much is granted at once: what this cache has been granted and does not need is lost to the
  /// others while it writes.
  private var quantum: Int64 {
    limit.map { min(4 << 20, max(64 << 10, $0 / 128)) } ?? 4 << 20
  }

  /// Whether a resource of that length could be stored whole if nothing else was.
  func canHold(_ length: Int64) -> Bool {
    usableLimit.map { length <= $0 - Self.overhead } ?? true
  }

  /// Asks for room for `bytes` more of an entry. Every grant is settled by `settle` or `conclude`.
  /// Blocks for some ten microseconds, whatever the number of entries.
  func reserve(_ bytes: Int64) -> Grant {
    if account.withLock({ $0.take(bytes) }) { return .granted }
    let (limit, quantum, process) = (usableLimit, quantum, Int64(getpid()))
    let isGranted = usage.update { record in
      account.withLock {
        $0.reserve(bytes, from: &record, quantum: quantum, limit: limit, process: process)
      }
    }
    checkUsage()
    return isGranted ? .granted : .needsRoom
  }

  /// Reports what became of a grant: what the entry's files take more now.
  func settle(_ granted: Int64, actual: Int64, for name: String) {
    account.withLock { $0.settle(granted, actual: actual, for: name) }
  }

  /// Files of an open entry were removed; `held` bytes are in files that somebody still reads.
  ///
  /// - Parameter mark: from `freeMark`, before they were.
  func credit(_ name: String, freed: Int64, held: Int64 = 0, since mark: FreeMark) {
    account.withLock { $0.credit(name, freed: freed, held: held, since: mark.check) }
    if held > 0 { report() }
  }

  /// The files of an entry are as they will stay. Blocks.
  ///
  /// - Parameter mark: from `freeMark`, before any of them was removed.
  func conclude(
    _ name: String, reserved: Int64, growth: Int64?, isClosed: Bool, since mark: FreeMark
  ) {
    account.withLock {
      $0.conclude(
        name, reserved: reserved, growth: growth, isClosed: isClosed, since: mark.check)
    }
    report()
  }

  /// Files are about to be removed or shortened: what is freed from here on was there when the
  /// directory was last measured. Blocks.
  func prepareToFree() { reportAlways() }

  /// What has to be known from before files are removed or shortened: whatever measures the directory
  /// meanwhile may have seen them, or not.
  struct FreeMark: Sendable {
    /// How often the directory had been measured.
    fileprivate var check: Int64
    /// The scan that runs, where it has measured them; nil where it finds them gone, or may.
    fileprivate var scan: Int?
  }

  func freeMark(_ name: String) -> FreeMark {
    FreeMark(check: account.withLock { $0.lastCheck }, scan: scanThatMeasured(name))
  }

  /// Files of an entry that is not open here were removed or shortened. After `prepareToFree`.
  func noteFreed(_ bytes: Int64, since mark: FreeMark) {
    if let scan = mark.scan { noteFreed(bytes, inScan: scan) }
    account.withLock { $0.addFreed(bytes, since: mark.check) }
  }

  /// Counts a record that is about to be replaced, and is there twice for a moment: out of what
  /// `usableLimit` keeps free. Balanced by `replacementEnded`. Blocks.
  func countReplacement() {
    account.withLock { $0.addFreed(-Self.replacement) }
    report()
  }

  func replacementEnded() { account.withLock { $0.addFreed(Self.replacement) } }

  private static let replacement: Int64 = 8192

  /// Tells the other caches of the directory what was freed and is not needed here. Blocks.
  func report() {
    if account.withLock({ $0.hasNews }) { reportAlways() }
  }

  private func reportAlways() {
    let process = Int64(getpid())
    usage.update { record in account.withLock { $0.report(to: &record, process: process) } }
  }

  /// How much has to be freed before `bytes` can be reserved. Blocks.
  func shortage(of bytes: Int64) -> Int64 {
    report()
    let left = account.withLock { $0.allowance }
    let limit = usableLimit
    return usage.update { $0.shortage(of: max(0, bytes - left), limit: limit) }
  }

  // MARK: Entries

  /// An open entry is not evicted by this process.
  func markOpen(_ name: String) { index.withLock { $0.markOpen(name) } }

  /// The entry was closed: what it takes is looked up once more. Blocks.
  func markClosed(_ name: String) {
    // Where it cannot be looked up, what is known of it stands.
    let measured = limit == nil ? nil : try? measure(name)
    index.withLock { index in
      index.markClosed(name)
      if let measured { index.note(measured) }
    }
  }

  func isOpen(_ name: String) -> Bool { index.withLock { $0.isOpen(name) } }

  /// What an entry takes, and when it was last used: the sidecar's time of change. Blocks.
  func measure(_ name: String) throws(DiskError) -> Eviction.Candidate? {
    let path = entryDirectory(named: name).path
    guard let own = try disk.status(of: path) else { return nil }
    var allocated = own.allocated
    var lastAccess = own.changed
    for file in try disk.names(in: path) {
      guard let status = try disk.status(of: "\(path)/\(file)") else { continue }
      allocated += status.allocated
      if file == EntryRecord.fileName { lastAccess = status.changed }
    }
    return .init(name: name, lastAccess: lastAccess, allocatedBytes: allocated)
  }

  /// What these take, without what is in them; 0 for what is missing.
  static func allocated(_ paths: [String], _ disk: any Disk) throws(DiskError) -> Int64 {
    var sum: Int64 = 0
    for path in paths { sum += try disk.status(of: path)?.allocated ?? 0 }
    return sum
  }

  /// Notes that an entry was used just now (utimensat(2) on its sidecar). Blocks.
  func touch(_ name: String) {
    let now = wallSeconds
    let time = index.withLock { $0.touch(name, at: now) }
    // Of no consequence where it fails: the entry then looks older than it is.
    try? disk.setChangeTime(of: entryDirectory(named: name).recordPath, to: time)
  }

  /// The time by the clock on the wall, in seconds since 1970.
  var wallSeconds: Double { clock().wall.timeIntervalSince1970 }
}
