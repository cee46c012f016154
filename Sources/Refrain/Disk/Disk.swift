// SPDX-License-Identifier: MIT
import Foundation

struct DiskError: Error, Sendable, Hashable, CustomStringConvertible {
  var operation: String
  var path: String
  var code: Int32

  var description: String { "\(operation) \(path): \(reason)" }

  var reason: String { String(cString: strerror(code)) }

  /// The file system is full, the user's quota is exhausted, or a file may not grow further.
  var isNoSpace: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }

  var isMissing: Bool { code == ENOENT || code == ENOTDIR }

  var isRefused: Bool { code == EROFS || code == EACCES || code == EPERM }

  var isObstacle: Bool { code == EISDIR || code == ELOOP || code == ENXIO || code == EINVAL }
}

enum OpenMode: Sendable {
  case read
  /// The file must exist, and keeps its contents.
  case readWrite
  /// Created if missing, otherwise emptied.
  case create
  /// Created if missing: for a file that is only locked, or read and changed in place.
  case lock
}

struct FileStatus: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case file
    case directory
    case other
  }

  var kind: Kind
  /// Allocated blocks, in bytes.
  var allocated: Int64
  var size: Int64
  var changed: Double
  /// 0 for an open file that was removed.
  var links: Int
  var inode: UInt64
}

/// Of a file, or of one byte, even beyond its end (fcntl(2), F_OFD_SETLK). All but a shared lock
/// exclude every other one, and need a file that is open for writing.
enum LockKind: Sendable, Hashable {
  case shared
  case exclusive
  case byte(Int64)
}

/// The system calls that the store needs, or a test double. They block unless noted otherwise.
protocol Disk: Sendable {
  /// mkdir(2), for the owner alone. An existing directory is no error.
  func makeDirectory(_ path: String) throws(DiskError)
  /// Keeps a directory out of backups, and readable on a locked device; does nothing on Linux.
  func setStoredMediaAttributes(_ path: String) throws
  /// open(2). A new file is for the owner alone (mode 0600).
  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> Int32
  func close(_ descriptor: Int32)
  /// pwrite(2), repeated until all bytes are written.
  func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64)
    throws(DiskError)
  /// fdatasync(2): on return the bytes survive a power cut.
  func sync(_ descriptor: Int32) throws(DiskError)
  /// fsync(2) of a directory: on return the names in it survive a power cut.
  func syncDirectory(_ path: String) throws(DiskError)
  func rename(_ old: String, to new: String) throws(DiskError)
  /// remove(3), of a file or an empty directory. A missing one is no error.
  func remove(_ path: String) throws(DiskError)
  func truncate(_ descriptor: Int32, to size: Int64) throws(DiskError)

  /// pread(2). Returns the number of bytes read, 0 at the end of the file.
  func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(DiskError) -> Int
  /// As `read`, from the page cache; nil if it has nothing (preadv2(2), RWF_NOWAIT). Never blocks.
  func readWithoutWaiting(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) -> Int?
  /// fstat(2). Does not wait for the disk on a local file system.
  func status(of descriptor: Int32) throws(DiskError) -> FileStatus
  /// lstat(2). Nil if nothing has that name.
  func status(of path: String) throws(DiskError) -> FileStatus?
  /// The names in a directory except `.` and `..` (readdir(3)); none if there is no directory.
  func names(in path: String) throws(DiskError) -> [String]
  /// The ranges without blocks (lseek(2), SEEK_HOLE); none if the system does not report them.
  func holes(in descriptor: Int32) throws(DiskError) -> RangeSet<Int64>
  /// In seconds since 1970 (utimensat(2)).
  func setChangeTime(of path: String, to time: Double) throws(DiskError)

  /// Does not wait; false if a conflicting lock is held. Throws if the file system cannot lock. The
  /// lock belongs to the open file description: a second one in the same process conflicts like one
  /// of another process, and the kernel releases it when the process ends.
  func lock(_ descriptor: Int32, _ kind: LockKind) throws(DiskError) -> Bool
  /// Call it before `close`: a child process that is being started holds a copy of every
  /// descriptor, and with it the lock, until it executes its program.
  func unlock(_ descriptor: Int32, _ kind: LockKind)
  /// Whether another open file description holds a conflicting lock (fcntl(2), F_OFD_GETLK).
  func isLocked(_ descriptor: Int32, against kind: LockKind) throws(DiskError) -> Bool
}

extension Disk {
  /// Nil if the file is missing. Throws EINVAL for anything but an ordinary file.
  func contents(of path: String, limit: Int = 64 << 20) throws(DiskError) -> [UInt8]? {
    do throws(DiskError) {
      let file = try EntryFile(path: path, mode: .read, lock: nil, disk: self)
      return try file.beginning(Int(min(file.status().size, Int64(limit))))
    } catch {
      if error.isMissing { return nil }
      throw error
    }
  }

  func makeFile(
    _ path: String, with bytes: [UInt8] = [], syncs: Bool = false
  ) throws(DiskError) {
    let file = try EntryFile(path: path, mode: .create, lock: nil, disk: self)
    if !bytes.isEmpty { try file.write(bytes, at: 0) }
    if syncs { try file.sync() }
  }

  func syncFile(_ path: String) throws(DiskError) {
    try EntryFile(path: path, mode: .read, lock: nil, disk: self).sync()
  }

  /// Makes a directory and its missing parents, again if an empty one is removed meanwhile.
  func makeDirectories(_ path: String, attempts: Int = 100) throws(DiskError) {
    do throws(DiskError) {
      try makeDirectory(path)
    } catch {
      let parent = path.parentPath
      guard error.code == ENOENT, !parent.isEmpty, attempts > 0 else { throw error }
      try makeDirectories(parent)
      try makeDirectories(path, attempts: attempts - 1)
    }
  }

  /// One that is left does no harm; nor does a file or a link.
  func removeIfEmpty(_ path: String) {
    if (try? status(of: path))?.kind == .directory { try? remove(path) }
  }

  /// Opens a file, made if it is missing, and locks it. Polls; nil if it stays locked for too long,
  /// or cannot be locked.
  func openLocked(_ path: String, within patience: Duration) -> EntryFile? {
    let start = ContinuousClock.now
    var pause: UInt32 = 20
    while let file = try? EntryFile(path: path, mode: .lock, lock: .exclusive, disk: self),
      case .success(let isLocked) = file.locking
    {
      // It may have been removed with its directory, and made again in the meantime.
      if isLocked, !file.isUnlinked { return file }
      guard ContinuousClock.now - start < patience else { return nil }
      usleep(pause)
      pause = min(pause * 2, 2000)
    }
    return nil
  }
}

extension String {
  /// The path of the directory in which this path lies; empty if there is none.
  var parentPath: String { lastIndex(of: "/").map { String(self[..<$0]) } ?? "" }
}
