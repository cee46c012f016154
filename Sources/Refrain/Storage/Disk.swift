// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A system call that failed.
struct DiskError: Error, Sendable, Hashable, CustomStringConvertible {
  var operation: String
  var path: String
  var code: Int32

  var description: String { "\(operation) \(path): \(String(cString: strerror(code)))" }

  /// No room: the file system is full (ENOSPC), the user's quota is (EDQUOT), or a file may not
  /// grow further (EFBIG).
  var isNoSpace: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }

  /// Nothing has that name, or what should be a directory on the way to it is none.
  var isMissing: Bool { code == ENOENT || code == ENOTDIR }

  /// Writing is not allowed there: a read-only file system, or missing permissions.
  var isRefused: Bool { code == EROFS || code == EACCES || code == EPERM }

  /// Something that is no file of ours has that name: a directory, a link, a socket, a giant.
  var isObstacle: Bool {
    code == EISDIR || code == ELOOP || code == ENXIO || code == EINVAL || code == EFBIG
  }
}

/// How a file is opened; every one close-on-exec.
enum OpenMode: Sendable {
  /// For reading.
  case read
  /// For reading and writing, as it is.
  case readWrite
  /// For reading and writing, made where it is missing, emptied where it is not.
  case create
  /// For reading and writing, made where it is missing: a file that is only locked.
  case lock
}

/// What a file or a directory is (stat(2)).
struct FileStatus: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case file
    case directory
    /// A link, a pipe, a socket or a device.
    case other
  }

  var kind: Kind
  /// Allocated blocks, in bytes.
  var allocated: Int64
  /// In bytes.
  var size: Int64
  /// The time of the last change, in seconds since 1970.
  var changed: Double
  /// Device and inode: no two files of a running system share both.
  var identity: Identity

  struct Identity: Sendable, Hashable {
    var device: UInt64
    var inode: UInt64
  }
}

/// What a lock shuts out (flock(2)).
enum LockKind: Sendable {
  /// Exclusive locks.
  case shared
  /// Every other lock.
  case exclusive
}

/// Everything that the store asks of a disk. The system's own calls, or a layer that forgets what was
/// not synced, fails or fills up. Every call blocks, except where it says otherwise: only Refrain's
/// own threads make them.
protocol Disk: Sendable {
  /// mkdir(2), for the owner alone. Already there: fine.
  func makeDirectory(_ path: String) throws(DiskError)
  /// `StoredMediaAttributes`, for a directory and all that will be made in it.
  func setStoredMediaAttributes(_ path: String) throws
  /// open(2).
  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> Int32
  /// close(2).
  func close(_ descriptor: Int32)
  /// pwrite(2), until all is written.
  func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64)
    throws(DiskError)
  /// fdatasync(2): on return the bytes survive a power cut.
  func sync(_ descriptor: Int32) throws(DiskError)
  /// fsync(2) of a directory: on return the names in it survive a power cut.
  func syncDirectory(_ path: String) throws(DiskError)
  /// rename(2).
  func rename(_ old: String, to new: String) throws(DiskError)
  /// unlink(2). Already gone: fine.
  func removeFile(_ path: String) throws(DiskError)
  /// rmdir(2). Already gone: fine.
  func removeDirectory(_ path: String) throws(DiskError)
  /// ftruncate(2): the file ends there.
  func truncate(_ descriptor: Int32, to size: Int64) throws(DiskError)

  /// pread(2). Returns the number of bytes read, 0 at the end of the file.
  func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(DiskError) -> Int
  /// Returns what the page cache holds at `offset`; nil where it holds nothing or cannot say. Never
  /// blocks, so any thread may call it (preadv2(2), RWF_NOWAIT).
  func readWithoutWaiting(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) -> Int?
  /// fstat(2). Does not wait for the disk on a local file system.
  func status(of descriptor: Int32) throws(DiskError) -> FileStatus
  /// lstat(2). Nil where nothing has that name.
  func status(of path: String) throws(DiskError) -> FileStatus?
  /// Every name in a directory but `.` and `..` (readdir(3)). None where there is no such directory;
  /// a directory that cannot be read is an error, not an empty one.
  func names(in path: String) throws(DiskError) -> [String]
  /// Where a sparse file has no blocks (lseek(2), SEEK_HOLE). None where the system cannot tell a
  /// hole from zeros that were written.
  func holes(in descriptor: Int32) throws(DiskError) -> RangeSet<Int64>
  /// Sets the time of the last change, in seconds since 1970 (utimensat(2)).
  func setChangeTime(of path: String, to time: Double) throws(DiskError)

  /// flock(2) with LOCK_NB. The lock belongs to the open file description: a second one in the same
  /// process conflicts as one of another process would, and the kernel releases it when the process
  /// ends.
  ///
  /// - Returns: false where another holds a lock that conflicts. Any other failure is an error: the
  ///   file system cannot lock.
  func lock(_ descriptor: Int32, _ kind: LockKind) throws(DiskError) -> Bool
  /// flock(2) with LOCK_UN. Call it before `close`: a process that is just being started holds a copy
  /// of every descriptor, and with it the lock, until its program replaces it.
  func unlock(_ descriptor: Int32)
  /// Locks one byte of a file for itself alone, which need not be there (fcntl(2), F_OFD_SETLK). As
  /// `lock`, the lock belongs to the open file description.
  ///
  /// - Returns: false where another has it. Any other failure is an error: the file system cannot lock.
  func lock(_ descriptor: Int32, byteAt offset: Int64) throws(DiskError) -> Bool
  /// As `unlock(_:)`, one byte.
  func unlock(_ descriptor: Int32, byteAt offset: Int64)
  /// Whether another open file description has the byte locked, or any byte at all for nil (fcntl(2),
  /// F_OFD_GETLK).
  func isLocked(_ descriptor: Int32, byteAt offset: Int64?) throws(DiskError) -> Bool
}

extension Disk {
  /// Writes all of the bytes.
  func write(
    _ bytes: some ContiguousBytes, to descriptor: Int32, at offset: Int64
  ) throws(DiskError) {
    // `withUnsafeBytes` forgets of what type an error is.
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(DiskError) in try write(buffer, to: descriptor, at: offset) }
    }
    try result.get()
  }

  /// Returns a whole small file; nil where it is missing.
  ///
  /// - Throws: where it cannot be read, is no ordinary file (EINVAL), or is larger than `limit`
  ///   (EFBIG).
  func contents(of path: String, limit: Int = 64 << 20) throws(DiskError) -> [UInt8]? {
    try file(at: path, limit: limit)?.bytes
  }

  /// As `contents`, with what it takes.
  func file(
    at path: String, limit: Int = 64 << 20
  ) throws(DiskError) -> (bytes: [UInt8], status: FileStatus)? {
    let descriptor: Int32
    do throws(DiskError) {
      descriptor = try open(path, .read)
    } catch {
      if error.isMissing { return nil }
      throw error
    }
    defer { close(descriptor) }
    let found = try status(of: descriptor)
    guard found.kind == .file else {
      throw DiskError(operation: "open", path: path, code: EINVAL)
    }
    guard found.size <= Int64(limit) else {
      throw DiskError(operation: "read", path: path, code: EFBIG)
    }
    var bytes = [UInt8](repeating: 0, count: Int(found.size))
    var done = 0
    while done < bytes.count {
      let result = bytes.withUnsafeMutableBytes { buffer in
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        return Result { () throws(DiskError) in
          try read(descriptor, into: rest, at: Int64(done))
        }
      }
      let count = try result.get()
      if count == 0 { break }
      done += count
    }
    bytes.removeLast(bytes.count - done)
    return (bytes, found)
  }

  /// Whether it is a directory itself, and no link to one.
  func isDirectory(_ path: String) throws(DiskError) -> Bool {
    try status(of: path)?.kind == .directory
  }

  /// As `lock`, waiting some milliseconds: a child process that was just forked holds what its parent
  /// holds until it executes its program, and whoever looks whether a lock is held holds it briefly.
  func lockSoon(_ descriptor: Int32, _ kind: LockKind) throws(DiskError) -> Bool {
    for attempt in 0..<5 {
      if attempt > 0 { usleep(2000) }
      if try lock(descriptor, kind) { return true }
    }
    return false
  }
}
