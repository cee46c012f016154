// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The file `usage` of a cache directory, which every cache there reads and changes under a lock
/// (fcntl(2), F_OFD_SETLK) that is held for microseconds. If the file system has no locks, each cache
/// counts on its own.
///
/// Only the amount stored depends on this file: if it is missing, damaged or from before a restart
/// of the machine, the directory is measured in the background.
final class UsageFile: Sendable {
  static let name = "usage"

  private let directory: String
  private let boot: UInt64
  private let disk: any Disk

  private struct State {
    /// The record used in place of the file if the file is unusable.
    var own: UsageRecord
    /// Whether writing the file failed: its contents are out of date.
    var isBroken = false
    /// The longest wait for the lock: short after one that ran out.
    var patience = UsageFile.patience
  }

  /// Also orders the threads of this process, which are woken here; a locked file can only be polled.
  private let state: Mutex<State>

  init(in directory: String, bootIdentity: String, disk: any Disk) {
    (self.directory, self.disk) = (directory, disk)
    boot = BootIdentity.number(of: bootIdentity)
    state = Mutex(State(own: UsageRecord(boot: boot, measurements: 0)))
  }

  /// A process that is stopped while it holds the lock keeps it; this cache then counts on its own
  /// and does not see other writers. So the wait is longer than a busy machine needs.
  private static let patience: Duration = .seconds(20)

  /// Changes the record. Usually blocks for some ten microseconds.
  func update<Result: Sendable>(_ body: (inout UsageRecord) -> Result) -> Result {
    state.withLock { state in
      if state.isBroken { return body(&state.own) }
      let start = ContinuousClock.now
      let path = "\(directory)/\(Self.name)"
      guard let file = disk.openLocked(path, within: state.patience) else {
        if .now - start >= state.patience { state.patience = .milliseconds(50) }
        return body(&state.own)
      }
      state.patience = Self.patience
      // If the file cannot be read, the directory is measured.
      let stored = (try? file.beginning(4096)).flatMap(UsageRecord.decode)
      var record = stored.flatMap { $0.boot == boot ? $0 : nil } ?? first(after: stored)
      let result = body(&record)
      if record == stored { return result }
      do throws(DiskError) {
        try file.write(record.encoded(), at: 0)
      } catch {
        // The file would differ from this cache's count, so no cache may trust it.
        try? file.truncate(to: 0)
        (state.own, state.isBroken) = (record, true)
      }
      return result
    }
  }

  /// Returns the first record of this boot. An empty directory is measured here.
  private func first(after last: UsageRecord?) -> UsageRecord {
    let entries = "\(directory)/entries"
    let isEmpty = (try? disk.names(in: entries).isEmpty) ?? false
    guard isEmpty, let size = try? disk.allocated([directory, entries]) else {
      return UsageRecord(boot: boot, used: last?.used ?? 0, measurements: 0)
    }
    // The file's own block is not allocated yet.
    return UsageRecord(boot: boot, used: size + 4096)
  }
}

extension Disk {
  /// Returns the allocated size of the paths, without the contents of directories.
  func allocated(_ paths: [String]) throws(DiskError) -> Int64 {
    var sum: Int64 = 0
    for path in paths { sum += try status(of: path)?.allocated ?? 0 }
    return sum
  }
}

/// The disk space that a cache directory takes, as counted by every cache that writes to it. A pure
/// value, kept in the file `usage`.
///
/// One rule makes the count safe: `used` is never less than the allocated bytes.
///
/// - A writer adds a grant before it writes, and gives back what it did not use.
/// - Whoever frees bytes subtracts them afterwards, unless a measurement has replaced the count
///   meanwhile: that one may already lack them.
/// - A measurement adds to the bytes that it found all that may have been written unseen: the grants
///   that were outstanding when it began, and those made since.
///
/// So the count may be too high for a while, at most by what was granted or freed during a
/// measurement, and is never too low.
struct UsageRecord: Sendable, Hashable {
  /// A cache that may write without a further grant.
  struct Writer: Sendable, Hashable {
    var id: UInt64
    var process: Int64
    /// The most bytes that it may still allocate, or holds in removed files.
    var outstanding: Int64

    /// The upper half of the identifiers of this process: the process identifier may be that of an
    /// earlier one, as in containers.
    private static let ownIDs = UInt64(UInt32.random(in: 1...UInt32.max)) << 32
    private static let lastID = Atomic<UInt64>(0)

    static func makeID() -> UInt64 { ownIDs | lastID.add(1, ordering: .relaxed).newValue }

    /// Whether its process has ended. If another process has received the same identifier, that is
    /// only detected after the next boot.
    var isDead: Bool {
      guard let process = pid_t(exactly: process), process > 0 else { return true }
      if process == getpid() { return id >> 32 != Self.ownIDs >> 32 }
      return kill(process, 0) != 0 && errno == ESRCH
    }
  }

  /// Identifies the boot in which the record was written. In another boot the writers' process
  /// identifiers mean nothing, and written bytes may be lost.
  var boot: UInt64
  /// Allocated bytes, and bytes that writers may allocate.
  var used: Int64 = 0
  /// The bytes ever granted, without those that were given back unwritten.
  var granted: Int64 = 0
  /// The number of measurements that replaced the count; 0 while `used` is unknown.
  var measurements: Int64 = 1
  var writers: [Writer] = []

  static let mostWriters = 100

  var isMeasured: Bool { measurements > 0 }

  // MARK: Granting

  /// Grants `bytes`, or `quantum` if there is room, so that a writer need not ask for every chunk;
  /// nil if there is no room. Note the writer's outstanding bytes afterwards.
  mutating func grant(_ bytes: Int64, quantum: Int64 = 0, limit: Int64?) -> Int64? {
    let amount = [max(quantum, bytes), bytes].first { shortage(of: $0, limit: limit) == 0 }
    ungrant(-(amount ?? 0))
    return amount
  }

  /// Returns the bytes to free before `bytes` more can be granted. While `used` is unknown, only
  /// some are granted to all writers together, whatever is freed.
  func shortage(of bytes: Int64, limit: Int64?) -> Int64 {
    guard let limit else { return 0 }
    let excess = isMeasured ? 0 : granted + bytes - max(min(16 << 20, limit / 16), bytes)
    return max(0, used + bytes - limit, excess)
  }

  mutating func free(_ bytes: Int64) { used = max(0, used - bytes) }

  /// Takes back a grant that will never be written: no measurement has seen it.
  mutating func ungrant(_ bytes: Int64) {
    granted = max(0, granted - bytes)
    free(bytes)
  }

  mutating func note(_ writer: Writer) {
    writers.removeAll { $0.id == writer.id }
    if writers.count >= Self.mostWriters { writers.removeAll(where: \.isDead) }
    if writer.outstanding > 0, writers.count < Self.mostWriters { writers.append(writer) }
  }

  // MARK: Measuring

  /// Forgets writers that have died, whose grants stay counted until the measurement ends.
  mutating func beginMeasurement(_ isDead: (Writer) -> Bool = \.isDead) {
    writers.removeAll(where: isDead)
  }

  /// Ends a measurement, at whose beginning the record was `start`. Of two upper bounds, the count
  /// and the measurement with all that it may have missed, the lower one is kept, unless the count
  /// cannot be trusted.
  mutating func endMeasurement(since start: UsageRecord, measured: Int64) {
    let grantedSince = granted - start.granted
    let most = measured + max(0, start.writers.reduce(grantedSince) { $0 + $1.outstanding })
    // More than was ever counted meanwhile: somebody else has added files.
    let isContradicted = measured > start.used + grantedSince
    if isMeasured, !isContradicted, used <= most { return }
    used = most
    measurements += 1
  }
}

/// The bytes that one cache was granted, and their use. A pure value.
///
/// Each entry that is open for writing holds a reserve for its directory, record and journals; what
/// its data files grow by is taken from the grants as they grow. When the entry is closed, both are
/// corrected by the growth on disk.
struct Account: Sendable {
  let id = UsageRecord.Writer.makeID()
  /// Bytes granted and not yet reserved. Negative if a file grew by more than was reserved for it,
  /// until `report`.
  private(set) var allowance: Int64 = 0
  /// Bytes reserved for open entries and for writes under way, or held in removed files that
  /// somebody still reads.
  private var reserved: Int64 = 0
  /// The counted growth of each open entry since it was last settled.
  private var grown: [String: Int64] = [:]

  var outstanding: Int64 { max(0, allowance) + reserved }

  mutating func take(_ bytes: Int64) -> Bool {
    guard allowance >= bytes else { return false }
    allowance -= bytes
    reserved += bytes
    return true
  }

  /// As `take`, with a further grant if the allowance is too small.
  mutating func reserve(
    _ bytes: Int64, quantum: Int64 = 0, limit: Int64?, from record: inout UsageRecord
  ) -> Bool {
    if take(bytes) { return true }
    allowance += record.grant(bytes - allowance, quantum: quantum, limit: limit) ?? 0
    note(in: &record)
    return take(bytes)
  }

  /// Replaces a reservation, for an entry that is open for writing, by the actual growth of files.
  mutating func settle(_ bytes: Int64, actual: Int64, for name: String? = nil) {
    // Bytes that another program cut off stay counted until the entry is closed.
    let growth = max(0, actual)
    reserved -= bytes
    allowance += bytes - growth
    if let name, growth > 0 { grown[name, default: 0] += growth }
  }

  /// Returns the growth counted for an entry, which counts again from here on.
  mutating func takeGrowth(of name: String) -> Int64 { grown.removeValue(forKey: name) ?? 0 }

  /// Settles an entry by the size of its files.
  ///
  /// - Parameters:
  ///   - bytes: reserved besides its data, and for removed files that are not read any more.
  ///   - actual: the growth of its files beyond what was counted, since it was last settled.
  ///   - isCounted: whether no measurement has replaced the count since then: one may have found
  ///     bytes missing already.
  mutating func conclude(
    reserved bytes: Int64, actual: Int64, isCounted: Bool, in record: inout UsageRecord
  ) {
    settle(bytes, actual: actual)
    if isCounted, actual < 0 { record.free(-actual) }
    report(to: &record)
  }

  /// The most that a cache with entries open for writing keeps unused.
  private static let most: Int64 = 8 << 20

  /// Covers an overdrawn allowance, regardless of the limit, or gives back what is too much of it:
  /// all, if this cache has no entry open for writing.
  mutating func report(to record: inout UsageRecord) {
    let kept = reserved == 0 ? 0 : min(max(0, allowance), Self.most)
    record.ungrant(allowance - kept)
    allowance = kept
    note(in: &record)
  }

  private func note(in record: inout UsageRecord) {
    let process = Int64(ProcessInfo.processInfo.processIdentifier)
    record.note(.init(id: id, process: process, outstanding: outstanding))
  }
}

/// The format of the file `usage`: words of eight bytes, little-endian, the last one a checksum. A
/// damaged file is treated as missing: the directory is measured.
extension UsageRecord {
  private static let magic: UInt64 = 0x3454_4955_5146_5232
  private static let headWords = 6
  /// Bounds each number by an exbibyte, so that sums do not overflow.
  private static let counts: Range<Int64> = 0..<1 << 60

  func encoded() -> [UInt8] {
    let counts = [used, granted, measurements, Int64(writers.count)]
    var words = [Self.magic, boot] + counts.map(UInt64.init(bitPattern:))
    for writer in writers {
      words += [writer.id, UInt64(bitPattern: writer.process), UInt64(writer.outstanding)]
    }
    return (words + [words.checksum]).bytes
  }

  /// Returns nil if the bytes do not begin with what `encoded` returns. An earlier record may have
  /// been longer.
  static func decode(_ bytes: [UInt8]) -> UsageRecord? {
    let words = [UInt64](bytes: bytes[...])
    guard words.count > headWords, words[0] == magic, words[5] <= mostWriters else { return nil }
    let end = headWords + 3 * Int(words[5])
    guard words.count > end, words[end] == words[..<end].checksum else { return nil }
    let numbers = words.map(Int64.init(bitPattern:))
    let writers = stride(from: headWords, to: end, by: 3).map { place in
      Writer(id: words[place], process: numbers[place + 1], outstanding: numbers[place + 2])
    }
    guard (numbers[2..<5] + writers.map(\.outstanding)).allSatisfy(counts.contains) else {
      return nil
    }
    return UsageRecord(
      boot: words[1], used: numbers[2], granted: numbers[3], measurements: numbers[4],
      writers: writers)
  }
}
