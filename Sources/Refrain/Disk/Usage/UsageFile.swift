// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The file `usage` of a cache directory, which every cache there reads and changes under a lock
/// (fcntl(2), F_OFD_SETLK) that is held for microseconds. If the file system has no locks, each cache
/// counts on its own. If the file is missing, damaged or from before a restart of the machine, the
/// directory is measured in the background.
final class UsageFile: Sendable {
  static let name = "usage"

  private let directory: String
  private let boot: UInt64
  private let disk: any Disk

  /// Also orders the threads of this process: a locked file can only be polled.
  private let state: Mutex<State>

  private struct State {
    /// The count as last read; of this cache alone, if the file cannot be locked or written.
    var own: UsageRecord
    var canLock = false
    var isBroken = false
    var patience = Duration.seconds(5)
    /// To be added to the file, which could not be locked meanwhile.
    var owed: Int64 = 0
  }

  init(in directory: String, bootIdentity: String, disk: any Disk) {
    (self.directory, self.disk) = (directory, disk)
    boot = BootIdentity.number(of: bootIdentity)
    state = Mutex(State(own: UsageRecord(boot: boot, measurements: 0)))
  }

  /// Changes the record. Usually blocks for some ten microseconds.
  func update<Result: Sendable>(_ body: (inout UsageRecord) -> Result) -> Result {
    state.withLock { state in
      if state.isBroken { return body(&state.own) }
      // Longer than a busy machine needs: only a process that is stopped keeps the lock.
      let file = disk.openLocked("\(directory)/\(Self.name)", within: state.patience)
      state.patience = file == nil ? .milliseconds(50) : .seconds(5)
      guard let file else {
        let isThere = (try? disk.status(of: directory)) != nil
        guard state.canLock, isThere else { return body(&state.own) }
        // Others may store meanwhile: nothing is granted.
        var record = state.own
        record.measurements = -1
        defer { state.owed += record.used - state.own.used }
        return body(&record)
      }
      // If the file cannot be read, the directory is measured.
      let stored = (try? file.beginning(4096)).flatMap(UsageRecord.decode)
      var record = stored.flatMap { $0.boot == boot ? $0 : nil } ?? first(after: stored)
      record.used = max(0, record.used + state.owed)
      let result = body(&record)
      (state.own, state.canLock, state.owed) = (record, true, 0)
      if record == stored { return result }
      do throws(DiskError) {
        try file.write(record.encoded(), at: 0)
      } catch {
        // The file would differ from this cache's count, so no cache may trust it.
        try? file.truncate(to: 0)
        state.isBroken = true
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
/// `used` is never less than the allocated bytes, and may be too high for a while, at most by what
/// was granted or freed during a measurement:
///
/// - A writer adds a grant before it writes, and gives back what it did not use.
/// - Whoever frees bytes subtracts them afterwards, unless a measurement has replaced the count
///   meanwhile: that one may already lack them.
/// - A measurement adds to the bytes that it found all that may have been written unseen: the grants
///   that were outstanding when it began, and those made since.
struct UsageRecord: Sendable, Equatable {
  /// After another boot, process identifiers mean nothing, and written bytes may be lost.
  var boot: UInt64
  /// Allocated bytes, and bytes that writers may allocate.
  var used: Int64 = 0
  /// The bytes ever granted, without those that were given back unwritten.
  var granted: Int64 = 0
  /// The number of measurements that replaced the count; 0 while `used` is unknown, negative in a
  /// copy whose file cannot be read.
  var measurements: Int64 = 1
  /// The most bytes that each cache may still allocate, or holds in removed files, by its number.
  var writers: [UInt64: Int64] = [:]

  static let mostWriters = 100

  var isMeasured: Bool { measurements > 0 }
  var isReadable: Bool { measurements >= 0 }

  /// Returns the bytes to free before `bytes` more can be granted. While `used` is unknown, only
  /// some are granted to all writers together, whatever is freed.
  func shortage(of bytes: Int64, limit: Int64?) -> Int64 {
    guard let limit else { return 0 }
    if !isReadable { return bytes }
    let excess = isMeasured ? 0 : granted + bytes - max(min(16 << 20, limit / 16), bytes)
    return max(0, used + bytes - limit, excess)
  }

  /// Grants bytes, or takes back (a negative number) what will never be written. `outstanding` is
  /// what the writer then has.
  mutating func grant(_ bytes: Int64, to writer: UInt64, outstanding: Int64) {
    (used, granted) = (max(0, used + bytes), max(0, granted + bytes))
    writers[writer] = nil
    if writers.count >= Self.mostWriters { dropDeadWriters() }
    if outstanding > 0, writers.count < Self.mostWriters { writers[writer] = outstanding }
  }

  /// Ends a measurement, at whose beginning the record was `start`. Of two upper bounds, the count
  /// and what was measured with all that it may lack, the lower one is kept, unless somebody else
  /// has added files.
  mutating func endMeasurement(since start: UsageRecord, measured: Int64) {
    guard isReadable else { return }
    let grantedSince = granted - start.granted
    let most = measured + max(0, start.writers.values.reduce(grantedSince, +))
    if isMeasured, measured <= start.used + grantedSince, used <= most { return }
    used = most
    measurements += 1
  }

  // The lower half of a writer's number is its process; the first quarter is random, because in a
  // container an earlier process may have had the same identifier.
  private static let mark = UInt64.random(in: 1...0xffff)
  private static let lastWriter = Atomic<UInt64>(0)

  static func newWriter() -> UInt64 {
    let number = lastWriter.add(1, ordering: .relaxed).newValue & 0xffff
    return mark << 48 | number << 32 | UInt64(getpid())
  }

  /// Forgets writers whose process has ended. What they were granted stays counted.
  mutating func dropDeadWriters() {
    writers = writers.filter { writer, _ in
      let process = pid_t(truncatingIfNeeded: writer)
      if process == getpid() { return writer >> 48 == Self.mark }
      return kill(process, 0) == 0 || errno != ESRCH
    }
  }
}

/// The bytes that one cache was granted, and their use. A pure value. An entry that is written holds
/// a reserve for all but its data; when it is closed, the count is corrected by the growth on disk.
struct Account: Sendable {
  let number = UsageRecord.newWriter()
  /// The allowance, and all that is reserved.
  private(set) var outstanding: Int64 = 0
  /// Bytes granted and not reserved. Negative, until `report`, if files grew by more than that.
  private(set) var allowance: Int64 = 0
  /// What `used` includes of each entry that is being changed, and the measurements by then.
  var entries: [String: Counted] = [:]
  typealias Counted = (bytes: Int64, measurements: Int64)

  mutating func take(_ bytes: Int64) -> Bool {
    guard allowance >= bytes else { return false }
    allowance -= bytes
    return true
  }

  /// As `take`, with a further grant if the allowance is too small: of `quantum` if there is room,
  /// so that a writer need not ask for every chunk.
  mutating func reserve(
    _ bytes: Int64, quantum: Int64 = 0, limit: Int64?, from record: inout UsageRecord
  ) -> Bool {
    if take(bytes) { return true }
    let missing = bytes - allowance
    let amounts = [max(quantum, missing), missing]
    add(amounts.first { record.shortage(of: $0, limit: limit) == 0 } ?? 0, to: &record)
    return take(bytes)
  }

  /// Replaces a reservation by the actual growth of files, and returns whether that was more.
  @discardableResult
  mutating func settle(_ bytes: Int64, actual: Int64, for name: String? = nil) -> Bool {
    // Bytes that another program cut off stay counted until the entry is closed.
    let growth = max(0, actual)
    allowance += bytes - growth
    outstanding -= growth
    if let name { entries[name]?.bytes += growth }
    return allowance < 0
  }

  /// Settles an entry by its size on disk, which may lack what was counted since `before`, and
  /// gives back `bytes`, which were reserved besides its data. Returns its growth.
  mutating func conclude(
    _ name: String, reserved bytes: Int64, size: Int64?, since before: Counted?, isLast: Bool,
    in record: inout UsageRecord
  ) -> Int64 {
    // If it could not be measured, the reserve counts as written.
    let growth = before.map { (size ?? $0.bytes + bytes) - $0.bytes } ?? 0
    settle(bytes, actual: growth)
    if growth < 0, record.isReadable, before?.measurements == record.measurements {
      record.used = max(0, record.used + growth)
    }
    entries[name]?.bytes += growth
    entries[name]?.measurements = record.measurements
    if isLast { entries[name] = nil }
    report(to: &record)
    return growth
  }

  /// Covers an overdrawn allowance, whatever the limit, or gives back what is too much of it: all,
  /// if nothing is reserved.
  mutating func report(to record: inout UsageRecord) {
    let kept = outstanding == allowance ? 0 : min(max(0, allowance), 8 << 20)
    add(kept - allowance, to: &record)
  }

  private mutating func add(_ bytes: Int64, to record: inout UsageRecord) {
    allowance += bytes
    outstanding += bytes
    record.grant(bytes, to: number, outstanding: outstanding)
  }
}

/// The format of the file `usage`: words of eight bytes, little-endian, the last one a checksum.
extension UsageRecord {
  private static let magic: UInt64 = 0x3554_4955_5146_5232

  func encoded() -> [UInt8] {
    let counts = [used, granted, measurements, Int64(writers.count)]
    var words = [Self.magic, boot] + counts.map(UInt64.init(bitPattern:))
    for (writer, outstanding) in writers { words += [writer, UInt64(outstanding)] }
    return (words + [words.checksum]).bytes
  }

  /// Returns nil for a damaged record. An earlier one may have been longer.
  static func decode(_ bytes: [UInt8]) -> UsageRecord? {
    let words = [UInt64](bytes: bytes[...])
    guard words.count > 6, words[0] == magic, words[5] <= mostWriters else { return nil }
    let end = 6 + 2 * Int(words[5])
    guard words.count > end, words[end] == words[..<end].checksum else { return nil }
    let numbers = words.map(Int64.init(bitPattern:))
    var record = UsageRecord(
      boot: words[1], used: numbers[2], granted: numbers[3], measurements: numbers[4])
    for index in stride(from: 6, to: end, by: 2) {
      record.writers[words[index]] = numbers[index + 1]
    }
    // Below an exbibyte each, so that sums do not overflow.
    let counts = numbers[2..<5] + record.writers.values
    return counts.allSatisfy { (0..<1 << 60).contains($0) } ? record : nil
  }
}
