// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The right to change one entry's files: an exclusive flock(2) on a file beside the shards, held for
/// as long as this lives. One writer at a time has it; the kernel releases it when the process ends.
///
/// The file exists while the lock is held, and is opened for writing: NFS locks nothing else. It lies
/// outside of the entry's own directory, so that the directory can be made and removed under it.
final class WriterLock: Sendable {
  private let descriptor: Int32
  private let path: String
  private let disk: any Disk
  /// Why the file system cannot lock; nil where it can. Nothing keeps other processes out then. They
  /// never make each other's bytes wrong: every generation has files of its own name, and no part of
  /// a file is freed without a lock. But one may undo what the other has stored.
  let failure: DiskError?

  private init(_ descriptor: Int32, _ path: String, _ disk: any Disk, failure: DiskError?) {
    self.descriptor = descriptor
    self.path = path
    self.disk = disk
    self.failure = failure
  }

  deinit {
    // While it is locked, so that whoever locks a file of that name after this has a new one. Where
    // that fails, an empty file stays for whoever comes next.
    do { try disk.removeFile(path) } catch {}
    disk.unlock(descriptor)
    disk.close(descriptor)
  }

  /// Takes the lock. Blocks, but does not wait for a writer.
  ///
  /// - Parameter waits: whether to wait some milliseconds for one who only looks whether it is held.
  /// - Returns: nil where another holds it.
  /// - Throws: where the file cannot be made.
  static func acquire(
    _ directory: EntryDirectory, waits: Bool = true
  ) throws(DiskError) -> WriterLock? {
    let disk = directory.disk
    let path = directory.lockPath
    var attempts = waits ? 5 : 1
    // Whoever releases the lock removes the file: the one that was opened may not have the name by
    // the time it is locked.
    for _ in 0..<100 {
      let opened: Int32
      do throws(DiskError) {
        opened = try disk.open(path, .lock)
      } catch {
        guard error.isMissing else { throw error }
        try directory.createParents()
        continue
      }
      do throws(DiskError) {
        guard try disk.lock(opened, .exclusive) else {
          disk.close(opened)
          attempts -= 1
          if attempts == 0 { return nil }
          usleep(2000)
          continue
        }
      } catch {
        return WriterLock(opened, path, disk, failure: error)
      }
      let isCurrent: Bool
      do throws(DiskError) {
        isCurrent = try disk.status(of: opened).identity == disk.status(of: path)?.identity
      } catch {
        disk.unlock(opened)
        disk.close(opened)
        throw error
      }
      if isCurrent { return WriterLock(opened, path, disk, failure: nil) }
      disk.unlock(opened)
      disk.close(opened)
    }
    return nil
  }

  /// Whether another holds the lock. Changes nothing.
  static func isHeld(_ directory: EntryDirectory) -> Bool {
    let disk = directory.disk
    // Where the file is missing nobody has the lock; where it cannot be opened nobody writes.
    guard let opened = try? disk.open(directory.lockPath, .readWrite) else { return false }
    defer { disk.close(opened) }
    do throws(DiskError) {
      guard try disk.lock(opened, .shared) else { return true }
    } catch {
      return false
    }
    disk.unlock(opened)
    return false
  }
}
