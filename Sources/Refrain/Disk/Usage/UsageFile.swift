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

  /// The longest wait for the lock. A process that is stopped while it holds the lock keeps it;
  /// this cache then counts on its own and does not see other writers. So the wait is longer than a
  /// busy machine needs.
  private static let longestWait: Duration = .seconds(20)
  /// The wait after one that ran out.
  private static let shortestWait: Duration = .milliseconds(50)

  /// Reads the record, changes it, and writes it. Usually blocks for some ten microseconds.
  func update<Result: Sendable>(_ body: (inout UsageRecord) -> Result) -> Result {
    let start = ContinuousClock.now
    let patience = isHeldUp.load(ordering: .relaxed) ? Self.shortestWait : Self.longestWait
    if !isBroken.load(ordering: .acquiring),
      turn.lock(before: Date(timeIntervalSinceNow: patience.seconds))
    {
      defer { turn.unlock() }
      if let descriptor = disk.openLocked(path, within: patience - (.now - start)) {
        defer { disk.closeLocked(descriptor) }
        isHeldUp.store(false, ordering: .relaxed)
        return update(descriptor, body)
      }
    }
    if .now - start >= patience { isHeldUp.store(true, ordering: .relaxed) }
    return own.withLock { body(&$0) }
  }

  private func update<Result>(
    _ descriptor: Int32, _ body: (inout UsageRecord) -> Result
  ) -> Result {
    // If the file cannot be read, the directory is measured.
    let stored = (try? disk.read(4096, of: descriptor)).flatMap(UsageRecord.decode)
    var record = stored.flatMap { $0.boot == boot ? $0 : nil } ?? first(after: stored)
    let result = body(&record)
    if record == stored { return result }
    do throws(DiskError) {
      try disk.write(record.encoded(), to: descriptor, at: 0)
    } catch {
      // The file would differ from this cache's count, so no cache may trust it.
      try? disk.truncate(descriptor, to: 0)
      own.withLock { [record] in $0 = record }
      isBroken.store(true, ordering: .releasing)
    }
    return result
  }

  /// Returns the first record of this boot.
  private func first(after last: UsageRecord?) -> UsageRecord {
    var record = last ?? UsageRecord(boot: boot)
    (record.boot, record.writers, record.guess) = (boot, [], 0)
    if last == nil, let size = measureEmpty() {
      // The file's own block is not allocated yet.
      record.used = size + 4096
      record.guess = nil
      record.measuredAt = clock().wall.timeIntervalSince1970
    }
    return record
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
    let own = own.withLock { $0 }
    let dead = writers.filter { writer in
      guard let process = pid_t(exactly: writer.process), process > 0 else { return true }
      if process == getpid() { return !own.contains(writer.id) }
      return kill(process, 0) != 0 && errno == ESRCH
    }
    return Set(dead.map(\.id))
  }
}
