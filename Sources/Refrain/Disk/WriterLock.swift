// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The right to change one entry's files, held for this object's lifetime. One writer at a time has
/// it; the kernel releases it when the process ends. `WriterLocks` holds the locks of a cache
/// directory.
final class WriterLock: Sendable {
  private let name: String
  private let file: LockFile
  private let locks: WriterLocks
  /// Why the file system cannot lock; nil if it can. Without locks, nothing keeps other processes
  /// out. They never corrupt each other's bytes: every generation has file names of its own, and no
  /// part of a file is freed without a lock. But one may undo what another has stored.
  let failure: DiskError?

  fileprivate init(_ name: String, _ file: LockFile, _ locks: WriterLocks, failure: DiskError?) {
    self.name = name
    self.file = file
    self.locks = locks
    self.failure = failure
  }

  deinit {
    // In this order: the kernel does not separate the threads of one process.
    if failure == nil { file.unlock(name) }
    locks.release(name)
  }

  /// Takes the lock. Blocks, but does not wait for a writer.
  ///
  /// - Parameter waits: whether to retry for some milliseconds, for a process that only checks the
  ///   lock.
  /// - Returns: nil if another writer holds it.
  /// - Throws: if the lock file cannot be made.
  static func acquire(
    _ directory: EntryDirectory, waits: Bool = true
  ) throws(DiskError) -> WriterLock? {
    let (name, locks) = (directory.name, directory.locks)
    for attempt in 0..<(waits ? 5 : 1) {
      if attempt > 0 { usleep(2000) }
      guard locks.claim(name) else { continue }
      do throws(DiskError) {
        if let lock = try lock(directory, name, locks) { return lock }
      } catch {
        locks.release(name)
        throw error
      }
      locks.release(name)
    }
    return nil
  }

  /// Takes the kernel's lock, after this process's threads were excluded.
  private static func lock(
    _ directory: EntryDirectory, _ name: String, _ locks: WriterLocks
  ) throws(DiskError) -> WriterLock? {
    // Another program may remove the file, alone or with the directory; later processes then lock a
    // new file.
    for _ in 0..<100 {
      let file: LockFile
      do throws(DiskError) {
        file = try locks.file()
      } catch {
        guard error.isMissing else { throw error }
        try directory.createParents()
        continue
      }
      do throws(DiskError) {
        guard try file.lock(name) else { return nil }
      } catch {
        return WriterLock(name, file, locks, failure: error)
      }
      do throws(DiskError) {
        if try locks.isCurrent(file) { return WriterLock(name, file, locks, failure: nil) }
      } catch {
        file.unlock(name)
        throw error
      }
      file.unlock(name)
      locks.forget(file)
    }
    return nil
  }

  /// Whether another writer holds the lock. Changes nothing.
  static func isHeld(_ directory: EntryDirectory) -> Bool {
    directory.locks.isHeld(directory.name)
  }
}
