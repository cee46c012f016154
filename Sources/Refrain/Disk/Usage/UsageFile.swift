// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The file `usage` of a cache directory, which every cache there reads and changes under a lock
/// (flock(2)) that is held for microseconds. If the file system has no locks, each cache counts on
/// its own.
///
/// Only the amount stored depends on this file: if it is missing, damaged or from before a restart
/// of the machine, the directory is measured in the background.
final class UsageFile: Sendable {
  static let name = "usage"

  /// The cache directory.
  private let directory: String
  private let boot: UInt64
  private let disk: any Disk

  private struct State {
    /// The record used in place of the file if the file is unusable.
    var own: UsageRecord
    /// Whether writing the file failed: its contents are out of date.
    var isBroken = false
    /// Whether the last wait for the lock ran out.
    var isHeldUp = false
  }

  /// Also orders the threads of this process, which are woken here; a locked file can only be polled.
  private let state: Mutex<State>

  init(in directory: String, bootIdentity: String, disk: any Disk) {
    (self.directory, self.disk) = (directory, disk)
    boot = UsageRecord.number(ofBoot: bootIdentity)
    state = Mutex(State(own: UsageRecord(boot: boot, isMeasured: false)))
  }

  /// The longest wait for the lock. A process that is stopped while it holds the lock keeps it;
  /// this cache then counts on its own and does not see other writers. So the wait is longer than a
  /// busy machine needs.
  private static let longestWait: Duration = .seconds(20)
  /// The wait after one that ran out.
  private static let shortestWait: Duration = .milliseconds(50)

  /// Reads the record, changes it, and writes it. Usually blocks for some ten microseconds.
  func update<Result: Sendable>(_ body: (inout UsageRecord) -> Result) -> Result {
    state.withLock { state in
      if state.isBroken { return body(&state.own) }
      let start = ContinuousClock.now
      let patience = state.isHeldUp ? Self.shortestWait : Self.longestWait
      guard let descriptor = disk.openLocked("\(directory)/\(Self.name)", within: patience) else {
        if .now - start >= patience { state.isHeldUp = true }
        return body(&state.own)
      }
      defer { disk.closeLocked(descriptor) }
      state.isHeldUp = false
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
      return UsageRecord(boot: boot, used: last?.used ?? 0, isMeasured: false)
    }
    // The file's own block is not allocated yet.
    return UsageRecord(boot: boot, used: size + 4096)
  }
}

extension Disk {
  /// Returns the allocated size of the paths themselves, without the contents of directories; 0 for
  /// a missing one.
  func allocated(_ paths: [String]) throws(DiskError) -> Int64 {
    var sum: Int64 = 0
    for path in paths { sum += try status(of: path)?.allocated ?? 0 }
    return sum
  }
}
