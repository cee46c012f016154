// SPDX-License-Identifier: MIT
import Synchronization

/// The locks of the entries' writers in one cache directory: each entry has a byte of one file, at an
/// offset that its name gives, and whoever writes to the entry locks that byte.
///
/// The file stays empty (bytes beyond the end can be locked, fcntl(2)), and is there for good. A file
/// for each entry, made and removed each time, cost more than all else: ext4 looks for an inode that
/// was not freed in the last seconds, past all that were.
final class WriterLocks: Sendable {
  private struct State {
    /// What threads of this process have locked, or are about to: the kernel keeps apart who has
    /// opened the file, and that is done once for all.
    var claimed: Set<String> = []
    /// Open for as long as anything is locked in it.
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

  /// - Returns: whether no other thread of this process has the name. Balanced by `release`.
  func claim(_ name: String) -> Bool {
    state.withLock { $0.claimed.insert(name).inserted }
  }

  func release(_ name: String) {
    state.withLock { _ = $0.claimed.remove(name) }
  }

  /// The file, made where it is missing. Blocks.
  func file() throws(DiskError) -> LockFile {
    if let file = state.withLock({ $0.file }) { return file }
    let file = try LockFile(path: path, mode: .lock, disk: disk)
    // Of two that were opened at once either will do.
    state.withLock { $0.file = file }
    return file
  }

  /// Whether the file still has its name: others would lock another one otherwise. Blocks.
  func isCurrent(_ file: LockFile) throws(DiskError) -> Bool {
    try disk.status(of: path)?.identity == file.identity
  }

  func forget(_ file: LockFile) {
    state.withLock { if $0.file === file { $0.file = nil } }
  }

  /// Whether any thread or process has the lock of that name; of any, where none is named. Blocks, and
  /// changes nothing.
  func isHeld(_ name: String?) -> Bool {
    let isClaimed = state.withLock { state in
      name.map(state.claimed.contains) ?? !state.claimed.isEmpty
    }
    if isClaimed { return true }
    // Where the file is missing nobody has a lock; where it cannot be opened nobody writes.
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

  /// Which byte is locked for an entry. Two entries that shared one would only keep each other from
  /// being stored at the same time.
  private static func offset(_ name: String) -> Int64 {
    let number = UInt64(name.prefix(16), radix: 16) ?? UInt64(name.utf8.first ?? 0)
    return Int64(number >> 2)
  }

  /// - Returns: false where another has it.
  /// - Throws: where the file system cannot lock.
  func lock(_ name: String) throws(DiskError) -> Bool {
    try disk.lock(descriptor, byteAt: Self.offset(name))
  }

  func unlock(_ name: String) {
    disk.unlock(descriptor, byteAt: Self.offset(name))
  }

  fileprivate func isLocked(_ name: String?) -> Bool {
    let offset = name.map(Self.offset)
    // Where nothing can be locked nothing is.
    return (try? disk.isLocked(descriptor, byteAt: offset)) ?? false
  }
}
