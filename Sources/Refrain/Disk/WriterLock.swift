// SPDX-License-Identifier: MIT
import Foundation

/// The right to change one entry's files, held for the lifetime of a file that is locked. One
/// writer at a time has it; the kernel releases it when the process ends.
///
/// Each entry has a byte of the file `locks`, at an offset derived from its name, which its writer
/// locks by a descriptor of its own. The file stays empty: bytes beyond the end can be locked. A file
/// per entry, made and removed each time, cost more than everything else.
///
/// If the file system cannot lock, other processes are not kept out. They never corrupt each other's
/// bytes: every generation has file names of its own, and no part of a file is freed without a lock.
/// But one may undo what another has stored.
enum WriterLock {
  static let fileName = "locks"

  /// Takes the lock; nil if another writer holds it, for which this does not wait. With `waits`,
  /// retries for some milliseconds: pinning, evicting and verifying hold the lock for a moment, and
  /// a child process that was just forked, its parent's locks until it executes its program.
  static func acquire(
    _ directory: EntryDirectory, waits: Bool = true
  ) throws(DiskError) -> EntryFile? {
    // Another program may have removed the file with its directory.
    try directory.disk.makeDirectories(directory.lockPath.parentPath)
    for attempt in 0..<(waits ? 5 : 1) {
      if attempt > 0 { usleep(2000) }
      let file = try EntryFile(
        path: directory.lockPath, mode: .lock, lock: byte(of: directory), disk: directory.disk)
      if file.isLocked { return file }
    }
    return nil
  }

  /// Whether any thread or process has the lock. Changes nothing.
  static func isHeld(_ directory: EntryDirectory) -> Bool {
    // False if the file is missing, cannot be opened, or the file system cannot lock.
    let file = try? EntryFile(
      path: directory.lockPath, mode: .readWrite, lock: nil, disk: directory.disk)
    return (try? file?.isLocked(against: byte(of: directory))) ?? false
  }

  /// Two entries that share a byte only cannot be stored at the same time.
  private static func byte(of directory: EntryDirectory) -> LockKind {
    .byte(Int64((UInt64(directory.name.prefix(16), radix: 16) ?? 0) >> 2))
  }
}
