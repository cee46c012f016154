// SPDX-License-Identifier: MIT
import RefrainLocks

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
    weak var file: LockFile?
  }

  static let fileName = "locks"

  private let path: String
  private let disk: any Disk
  private let state = Mutex(State())

  init(directory: String, disk: any Disk) {
    path = "\(directory)/\(Self.fileName)"
    self.disk = disk
  }

  /// Claims a name within this process. Balanced by `release`.
  ///
  /// - Returns: false if another thread of this process has the name.
  func claim(_ name: String) -> Bool {
    state.withLock { $0.claimed.insert(name).inserted }
  }

  func release(_ name: String) {
    state.withLock { _ = $0.claimed.remove(name) }
  }

  /// Returns the open file, made if it is missing. Blocks.
  func file() throws(DiskError) -> LockFile {
    if let file = state.withLock({ $0.file }) { return file }
    let file = try LockFile(path: path, mode: .lock, disk: disk)
    // If two threads opened the file at once, either one will do.
    state.withLock { $0.file = file }
    return file
  }

  /// Whether the file still has its name; otherwise other processes would lock another file.
  /// Blocks.
  func isCurrent(_ file: LockFile) throws(DiskError) -> Bool {
    try disk.status(of: path)?.identity == file.identity
  }

  func forget(_ file: LockFile) {
    state.withLock { if $0.file === file { $0.file = nil } }
  }

  /// Whether any thread or process has the lock of `name`, or any lock at all if `name` is nil.
  /// Blocks, and changes nothing.
  func isHeld(_ name: String?) -> Bool {
    let isClaimed = state.withLock { state in
      name.map(state.claimed.contains) ?? !state.claimed.isEmpty
    }
    if isClaimed { return true }
    // If the file is missing, no lock is held; if it cannot be opened, there are no writers.
    guard let file = try? LockFile(path: path, mode: .readWrite, disk: disk) else { return false }
    return file.isLocked(name)
  }
}

/// The open file of the locks.
final class LockFile: Sendable {
  private let descriptor: Int32
  private let disk: any Disk
  let identity: FileStatus.Identity

  fileprivate init(path: String, mode: OpenMode, disk: any Disk) throws(DiskError) {
    self.disk = disk
    descriptor = try disk.open(path, mode)
    do throws(DiskError) {
      identity = try disk.status(of: descriptor).identity
    } catch {
      disk.close(descriptor)
      throw error
    }
  }

  deinit { disk.close(descriptor) }

  /// Returns the offset of an entry's byte. Two entries that share a byte only cannot be stored at
  /// the same time.
  private static func offset(_ name: String) -> Int64 {
    let number = UInt64(name.prefix(16), radix: 16) ?? UInt64(name.utf8.first ?? 0)
    return Int64(number >> 2)
  }

  /// - Returns: false if another writer holds the lock.
  /// - Throws: if the file system cannot lock.
  func lock(_ name: String) throws(DiskError) -> Bool {
    try disk.lock(descriptor, byteAt: Self.offset(name))
  }

  func unlock(_ name: String) {
    disk.unlock(descriptor, byteAt: Self.offset(name))
  }

  fileprivate func isLocked(_ name: String?) -> Bool {
    let offset = name.map(Self.offset)
    // If the file system cannot lock, nothing is locked.
    return (try? disk.isLocked(descriptor, byteAt: offset)) ?? false
  }
}
