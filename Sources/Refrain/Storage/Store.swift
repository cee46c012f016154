// SPDX-License-Identifier: MIT
import Foundation
import Synchronization

/// A cache directory: where entries lie in it, what it takes on disk, and who has to go when it is
/// full. Nothing is read on opening; sizes are looked up when first needed.
final class Store: Sendable {
  let directory: String
  let disk: any Disk
  let limit: Int64?
  /// This run of the machine.
  let bootIdentity: String
  private let accounts = Mutex(Accounts())

  /// What is known of disk use.
  private struct Accounts {
    var sizes: [String: Eviction.Candidate] = [:]
    var used: Int64 = 0
    /// Entries open in this process, with how often.
    var open: [String: Int] = [:]
    var scan: ScanTime?
    var grantedSinceScan: Int64 = 0

    mutating func set(_ name: String, allocated: Int64, lastAccess: Double) {
      used += allocated - (sizes[name]?.allocatedBytes ?? 0)
      sizes[name] = .init(name: name, lastAccess: lastAccess, allocatedBytes: allocated)
    }

    mutating func remove(_ name: String) {
      used -= sizes.removeValue(forKey: name)?.allocatedBytes ?? 0
    }
  }

  private struct ScanTime {
    var ended: ContinuousClock.Instant
    var duration: Duration

    /// Other processes write too: sizes grow old, the sooner the cheaper they are to look up.
    var isOld: Bool {
      ContinuousClock.now - ended > max(.seconds(5), duration * 20)
    }
  }

  /// What an open entry takes besides its data, at most and as a rule: its directory and the shard,
  /// the sidecar and its successor, two journals. Asked for before its files are made, and settled
  /// when it is closed.
  static let overhead: Int64 = 32 << 10

  init(
    directory: String, limit: Int64?, disk: any Disk,
    bootIdentity: String = BootIdentity.current
  ) {
    self.directory = directory
    self.limit = limit
    self.disk = disk
    self.bootIdentity = bootIdentity
  }

  private var entriesPath: String { "\(directory)/entries" }

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
      bootIdentity: bootIdentity)
  }

  /// The names of all entries. Blocks.
  func names() throws(DiskError) -> [String] {
    var names: [String] = []
    for shard in try disk.names(in: entriesPath) where shard.utf8.count == 2 {
      names += try disk.names(in: "\(entriesPath)/\(shard)").filter(Self.isEntryName)
    }
    return names
  }

  static func isEntryName(_ name: String) -> Bool {
    name.utf8.count == 32 && name.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
  }

  // MARK: Accounts

  enum Grant: Sendable {
    case granted
    /// Room has to be made, or sizes looked up, first: `makeRoom`.
    case needsRoom
  }

  /// Asks for room for `bytes` more of an entry. Every grant is settled by `settle`.
  func reserve(_ bytes: Int64, for name: String) -> Grant {
    guard let limit else { return .granted }
    return accounts.withLock { accounts in
      guard let scan = accounts.scan, accounts.used + bytes <= limit else { return .needsRoom }
      if accounts.grantedSinceScan > 16 << 20, scan.isOld { return .needsRoom }
      accounts.grantedSinceScan += bytes
      Self.grow(&accounts, name, by: bytes)
      return .granted
    }
  }

  /// Tells what became of a grant: what the entry's data takes more now.
  func settle(_ granted: Int64, actual: Int64, for name: String) {
    guard limit != nil, granted != actual else { return }
    accounts.withLock { Self.grow(&$0, name, by: actual - granted) }
  }

  private static func grow(_ accounts: inout Accounts, _ name: String, by bytes: Int64) {
    let size = accounts.sizes[name]
    accounts.set(
      name, allocated: max(0, (size?.allocatedBytes ?? 0) + bytes),
      lastAccess: size?.lastAccess ?? Date().timeIntervalSince1970)
  }

  /// An open entry is not evicted by this process.
  func markOpen(_ name: String) {
    accounts.withLock { $0.open[name, default: 0] += 1 }
  }

  /// The entry was closed: its size is looked up once more. Blocks.
  func markClosed(_ name: String) {
    // Where it cannot be looked up, what is known of it stands.
    let measured: Eviction.Candidate?
    let isMeasured: Bool
    do throws(DiskError) {
      (measured, isMeasured) = (try measure(name), true)
    } catch {
      (measured, isMeasured) = (nil, false)
    }
    accounts.withLock { accounts in
      accounts.open[name] = accounts.open[name].flatMap { $0 > 1 ? $0 - 1 : nil }
      guard accounts.scan != nil, isMeasured else { return }
      if let measured {
        accounts.set(name, allocated: measured.allocatedBytes, lastAccess: measured.lastAccess)
      } else {
        accounts.remove(name)
      }
    }
  }

  func forget(_ name: String) {
    accounts.withLock { $0.remove(name) }
  }

  /// Looks every size up anew. Blocks: some ten microseconds an entry.
  ///
  /// - Throws: where a directory cannot be read. What was known before stands then, for as long as
  ///   any account does.
  func scan() throws(DiskError) {
    let start = ContinuousClock.now
    var sizes: [String: Eviction.Candidate] = [:]
    let base: Int64
    do throws(DiskError) {
      for name in try names() {
        if let size = try measure(name) { sizes[name] = size }
      }
      base = try measureBase()
    } catch {
      accounts.withLock { accounts in
        accounts.scan?.ended = ContinuousClock.now
        accounts.grantedSinceScan = 0
      }
      throw error
    }
    accounts.withLock { [sizes] accounts in
      // What was written while the scan ran is at least what this process knew of open entries.
      for name in accounts.open.keys {
        guard let known = accounts.sizes[name] else { continue }
        let found = sizes[name]?.allocatedBytes ?? 0
        accounts.sizes[name]?.allocatedBytes = max(found, known.allocatedBytes)
      }
      let open = accounts.sizes.filter { accounts.open[$0.key] != nil }
      accounts.sizes = sizes.merging(open) { $1 }
      accounts.used = accounts.sizes.values.reduce(base) { $0 + $1.allocatedBytes }
      let now = ContinuousClock.now
      accounts.scan = ScanTime(ended: now, duration: now - start)
      accounts.grantedSinceScan = 0
    }
  }

  /// What the directories above the entries take.
  private func measureBase() throws(DiskError) -> Int64 {
    var sum: Int64 = 0
    let shards = try disk.names(in: entriesPath).map { "\(entriesPath)/\($0)" }
    for path in [directory, entriesPath] + shards {
      sum += try disk.status(of: path)?.allocated ?? 0
    }
    return sum
  }

  /// Whether what is used has ever been looked up.
  var isScanned: Bool { accounts.withLock { $0.scan != nil } }

  var needsScan: Bool { accounts.withLock { $0.scan?.isOld ?? true } }

  var usedBytes: Int64 { accounts.withLock { $0.used } }

  var entryCount: Int { accounts.withLock { $0.sizes.count } }

  /// Entries that may go.
  func candidates() -> [Eviction.Candidate] {
    accounts.withLock { accounts in
      accounts.sizes.values.filter { accounts.open[$0.name] == nil }
    }
  }

  func isOpen(_ name: String) -> Bool {
    accounts.withLock { $0.open[name] != nil }
  }

  func setSize(_ name: String, allocated: Int64) {
    accounts.withLock { accounts in
      accounts.set(
        name, allocated: allocated,
        lastAccess: accounts.sizes[name]?.lastAccess ?? Date().timeIntervalSince1970)
    }
  }

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

  /// Notes that an entry was used just now (utimensat(2) on its sidecar). Blocks.
  func touch(_ name: String) {
    // Of no consequence where it fails: the entry then looks older than it is.
    try? disk.setChangeTime(of: entryDirectory(named: name).recordPath, to: nil)
    accounts.withLock { $0.sizes[name]?.lastAccess = Date().timeIntervalSince1970 }
  }
}
