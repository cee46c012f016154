// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The file `usage` of a cache directory, which every cache there reads and changes under a lock
/// (flock(2)) that is held for microseconds. If the file system has no locks, each cache counts on
/// its own.
///
/// Only the amount stored depends on this file: if it is missing, damaged or from before a restart
/// of the machine, the directory is measured in the background.
final class UsageFile: Sendable {
  static let name = "usage"

  private let path: String
  private let boot: UInt64
  private let disk: any Disk
  private let clock: @Sendable () -> Moment
  /// Returns the allocated size of the directory if it has no entries yet; otherwise nil.
  private let measureEmpty: @Sendable () -> Int64?
  /// The record used in place of the file if the file is unusable.
  private let own: Mutex<UsageRecord>
  /// Whether writing the file failed: its contents are out of date.
  private let isBroken = Atomic(false)
  /// Whether the last wait for the lock ran out.
  private let isHeldUp = Atomic(false)
  /// Orders the threads of this process, which can wait here until woken, and no longer than for the
  /// file; a locked file can only be polled.
  private let turn = NSLock()

  init(
    path: String, bootIdentity: String, disk: any Disk,
    measureEmpty: @Sendable @escaping () -> Int64?,
    clock: @Sendable @escaping () -> Moment = { .now }
  ) {
    self.path = path
    self.disk = disk
    self.clock = clock
    boot = UsageRecord.number(ofBoot: bootIdentity)
    self.measureEmpty = measureEmpty
    own = Mutex(UsageRecord(guess: 0, boot: boot))
  }

  /// Reads the record, changes it, and writes it. Usually blocks for some ten microseconds.
  func update<Result: Sendable>(_ body: (inout UsageRecord) -> Result) -> Result {
    guard !isBroken.load(ordering: .acquiring), let descriptor = lockedDescriptor() else {
      return own.withLock { body(&$0) }
    }
    defer {
      disk.closeLocked(descriptor)
      turn.unlock()
    }
    let (before, isStored) = read(descriptor)
    var record = before
    let result = body(&record)
    if record != before || !isStored, !write(record, to: descriptor) {
      own.withLock { $0 = record }
      isBroken.store(true, ordering: .releasing)
    }
    return result
  }

  // MARK: Locking

  /// The longest wait for the lock. A process that is stopped while it holds the lock keeps it;
  /// this cache then counts on its own and does not see other writers. So the wait is longer than a
  /// busy machine needs.
  private static let longestWait: Duration = .seconds(20)
  /// The wait after one that ran out.
  private static let shortestWait: Duration = .milliseconds(50)

  /// - Returns: nil if the file cannot be locked; otherwise the caller also holds `turn`.
  private func lockedDescriptor() -> Int32? {
    let start = ContinuousClock.now
    let patience = isHeldUp.load(ordering: .relaxed) ? Self.shortestWait : Self.longestWait
    guard turn.lock(before: Date(timeIntervalSinceNow: patience / .seconds(1))) else { return nil }
    let descriptor = disk.openLocked(path, within: patience - (.now - start))
    isHeldUp.store(descriptor == nil && .now - start >= patience, ordering: .relaxed)
    if descriptor == nil { turn.unlock() }
    return descriptor
  }

  // MARK: Bytes

  private func read(_ descriptor: Int32) -> (record: UsageRecord, isStored: Bool) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = buffer.withUnsafeMutableBytes { buffer in
      // If the file cannot be read, the directory is measured.
      (try? disk.read(descriptor, into: buffer, at: 0)) ?? 0
    }
    if count > 0, var record = UsageRecord.decode(Array(buffer[..<count])) {
      guard record.boot != boot else { return (record, true) }
      record.boot = boot
      record.writers = []
      record.guess = 0
      return (record, false)
    }
    var record = UsageRecord(guess: 0, boot: boot)
    // The file's own block is not allocated yet.
    if let size = measureEmpty() {
      record.used = size + 4096
      record.guess = nil
      record.measuredAt = clock().wall.timeIntervalSince1970
    }
    return (record, false)
  }

  private func write(_ record: UsageRecord, to descriptor: Int32) -> Bool {
    do throws(DiskError) {
      try disk.write(record.encoded(), to: descriptor, at: 0)
      return true
    } catch {
      // The file would differ from this cache's count, so no cache may trust it.
      try? disk.truncate(descriptor, to: 0)
      return false
    }
  }
}

/// Finds the writers of a `UsageRecord` that no longer exist.
enum LiveWriters {
  /// The writers of this process.
  private static let own = Mutex<Set<UInt64>>([])

  static func add(_ id: UInt64) { own.withLock { _ = $0.insert(id) } }

  static func remove(_ id: UInt64) { own.withLock { _ = $0.remove(id) } }

  /// Returns the dead writers. A writer of another process is dead if its process is: kill(2) with
  /// signal 0 fails with ESRCH. If another process has received the same identifier, the writer is
  /// only detected after the next boot.
  static func dead(among writers: [UsageRecord.Writer]) -> Set<UInt64> {
    let process = Int64(getpid())
    let ended = own.withLock { own in
      writers.filter { $0.process == process && !own.contains($0.id) }
    }
    let lost = writers.filter { writer in
      if writer.process == process { return false }
      guard let other = pid_t(exactly: writer.process), other > 0 else { return true }
      return kill(other, 0) != 0 && errno == ESRCH
    }
    return Set((ended + lost).map(\.id))
  }
}
