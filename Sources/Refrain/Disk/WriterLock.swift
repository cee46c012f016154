// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The right to change one entry's files, held for this object's lifetime. One writer at a time has
/// it; the kernel releases it when the process ends.
final class WriterLock: Sendable {
  private let name: String
  private let locks: WriterLocks
  private let file: OpenFile
  /// Why the file system cannot lock; nil if it can. Without locks, nothing keeps other processes
  /// out. They never corrupt each other's bytes: every generation has file names of its own, and no
  /// part of a file is freed without a lock. But one may undo what another has stored.
  let failure: DiskError?

  fileprivate init(
    _ name: String, _ locks: WriterLocks, _ file: OpenFile, failure: DiskError? = nil
  ) {
    (self.name, self.locks, self.file, self.failure) = (name, locks, file, failure)
  }

  deinit {
    // Before the name is free: the kernel does not separate the threads of one process.
    if failure == nil { file.disk.unlock(file.descriptor, WriterLocks.lock(of: name)) }
    locks.release(name)
  }

  /// Takes the lock; nil if another writer holds it. Blocks, but does not wait for a writer.
  ///
  /// - Parameter waits: whether to retry for some milliseconds: pinning, evicting and verifying hold
  ///   the lock for a moment, and a child process that was just forked holds its parent's locks until
  ///   it executes its program.
  /// - Returns: nil if another writer holds it.
  /// - Throws: if the lock file cannot be made.
  static func acquire(
    _ directory: EntryDirectory, waits: Bool = true
  ) throws(DiskError) -> WriterLock? {
    for attempt in 0..<(waits ? 5 : 1) {
      if attempt > 0 { usleep(2000) }
      if let lock = try directory.locks.lock(directory.name) { return lock }
    }
    return nil
  }
}

/// The locks of the entries' writers in one cache directory: each entry has a byte of one file, at
/// an offset derived from its name, and a writer locks the byte of its entry.
///
/// The file stays empty (bytes beyond the end can be locked, fcntl(2)) and is never removed. One
/// lock file per entry, made and removed each time, cost more than everything else: ext4 searches
/// for an inode that was not freed in the last seconds, past all that were.
final class WriterLocks: Sendable {
  private struct State {
    /// The names that threads of this process have locked or are about to lock. The kernel only
    /// separates open file descriptions, and all threads share one.
    var claimed: Set<String> = []
    /// The open file, while anything is locked in it.
    weak var file: OpenFile?
  }

  static let fileName = "locks"

  private let directory: String
  private let disk: any Disk
  private let state = Mutex(State())
  private let hasWarned = Atomic(false)

  init(directory: String, disk: any Disk) { (self.directory, self.disk) = (directory, disk) }

  private var path: String { "\(directory)/\(Self.fileName)" }

  /// Returns, once, why files cannot be locked (`WriterLock.failure`), and what to do about it.
  func warning(of failure: DiskError) -> String? {
    guard !hasWarned.exchange(true, ordering: .relaxed) else { return nil }
    return
      "The cache cannot lock files in \(directory) (\(failure)): some network file systems have no "
      + "locks, and in the container of an app group none are used. Use it from one process at a "
      + "time: several would overwrite each other's data. A local directory of the app's own has no "
      + "such limit."
  }

  /// Two entries that share a byte only cannot be stored at the same time.
  fileprivate static func lock(of name: String) -> LockKind {
    .byte(Int64((UInt64(name.prefix(16), radix: 16) ?? 0) >> 2))
  }

  fileprivate func lock(_ name: String) throws(DiskError) -> WriterLock? {
    // First this process's threads are excluded, then, by the kernel's lock, other processes.
    guard state.withLock({ $0.claimed.insert(name).inserted }) else { return nil }
    var lock: WriterLock?
    defer { if lock == nil { release(name) } }
    let file = try openFile()
    do throws(DiskError) {
      if try disk.lock(file.descriptor, Self.lock(of: name)) { lock = WriterLock(name, self, file) }
    } catch {
      lock = WriterLock(name, self, file, failure: error)
    }
    return lock
  }

  fileprivate func release(_ name: String) { state.withLock { _ = $0.claimed.remove(name) } }

  /// Another program may have removed the file, alone or with the directory.
  private func openFile() throws(DiskError) -> OpenFile {
    if let file = state.withLock({ $0.file }),
      try disk.status(of: path)?.identity == file.status().identity
    {
      return file
    }
    try disk.makeDirectories(directory)
    let file = try OpenFile(path, .lock, disk: disk)
    // If two threads opened the file at once, either one will do.
    state.withLock { $0.file = file }
    return file
  }

  /// Whether any thread or process has the lock of `name`. Blocks, and changes nothing.
  func isHeld(_ name: String) -> Bool {
    if state.withLock({ $0.claimed.contains(name) }) { return true }
    // If the file is missing, no lock is held; if it cannot be opened, there are no writers; if the
    // file system cannot lock, nothing is locked.
    guard let file = try? OpenFile(path, .readWrite, disk: disk) else { return false }
    defer { withExtendedLifetime(file) {} }
    return (try? disk.isLocked(file.descriptor, against: Self.lock(of: name))) ?? false
  }
}
