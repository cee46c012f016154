// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
  import CLinuxSystem
#elseif canImport(Darwin)
  import Darwin
#endif

/// Reads, file status and locks.
extension SystemDisk {
  func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(DiskError) -> Int {
    let count = retrying { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    guard count >= 0 else { throw failure("pread", "fd \(descriptor)") }
    return count
  }

  func readWithoutWaiting(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) -> Int? {
    #if canImport(Glibc)
      let count = refrain_pread_nowait(
        descriptor, buffer.baseAddress, buffer.count, off_t(offset))
      return count > 0 ? count : nil
    #else
      return nil
    #endif
  }

  func status(of descriptor: Int32) throws(DiskError) -> FileStatus {
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { throw failure("fstat", "fd \(descriptor)") }
    return FileStatus(found)
  }

  func status(of path: String) throws(DiskError) -> FileStatus? {
    var found = stat()
    guard lstat(path, &found) == 0 else {
      let error = failure("lstat", path)
      if error.isMissing { return nil }
      throw error
    }
    return FileStatus(found)
  }

  func names(in path: String) throws(DiskError) -> [String] {
    guard let directory = opendir(path) else {
      let error = failure("opendir", path)
      if error.isMissing { return [] }
      throw error
    }
    defer { closedir(directory) }
    var names: [String] = []
    while true {
      // readdir(3) returns a null pointer both at the end and after a failure.
      errno = 0
      guard let entry = readdir(directory) else {
        if errno != 0 { throw failure("readdir", path) }
        return names
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(
          to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)
        ) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
  }

  func holes(in descriptor: Int32) throws(DiskError) -> RangeSet<Int64> {
    var holes = RangeSet<Int64>()
    #if canImport(Glibc)
      let size = try status(of: descriptor).size
      var offset: Int64 = 0
      while offset < size {
        let hole = Int64(refrain_seek_hole(descriptor, off_t(offset)))
        if hole < 0 {
          // The offset is beyond the end: another process has just shortened the file.
          if errno == ENXIO { break }
          throw failure("lseek", "fd \(descriptor)")
        }
        guard hole < size else { break }
        let data = Int64(refrain_seek_data(descriptor, off_t(hole)))
        if data < 0, errno != ENXIO { throw failure("lseek", "fd \(descriptor)") }
        let end = data < 0 ? size : data
        holes.insert(contentsOf: hole..<end)
        offset = end
      }
    #endif
    return holes
  }

  func setChangeTime(of path: String, to time: Double) throws(DiskError) {
    guard time.isFinite, abs(time) < 1e12 else { return }
    let seconds = time.rounded(.down)
    let spec = timespec(tv_sec: Int(seconds), tv_nsec: Int((time - seconds) * 1e9))
    guard utimensat(AT_FDCWD, path, [spec, spec], 0) == 0 else {
      throw failure("utimensat", path)
    }
  }

  func lock(_ descriptor: Int32, _ kind: LockKind) throws(DiskError) -> Bool {
    try checkLocking("flock", descriptor)
    let operation = (kind == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB
    if retrying({ Int(flock(descriptor, operation)) }) == 0 { return true }
    if errno == EWOULDBLOCK { return false }
    throw failure("flock", "fd \(descriptor)")
  }

  func unlock(_ descriptor: Int32) {
    _ = flock(descriptor, LOCK_UN)
  }

  func lock(_ descriptor: Int32, byteAt offset: Int64) throws(DiskError) -> Bool {
    try checkLocking("fcntl", descriptor)
    var lock = Self.lock(F_WRLCK, offset)
    if retrying({ Int(fcntl(descriptor, Self.setLock, &lock)) }) == 0 { return true }
    if errno == EAGAIN || errno == EACCES { return false }
    throw failure("fcntl", "fd \(descriptor)")
  }

  func unlock(_ descriptor: Int32, byteAt offset: Int64) {
    var lock = Self.lock(F_UNLCK, offset)
    _ = fcntl(descriptor, Self.setLock, &lock)
  }

  func isLocked(_ descriptor: Int32, byteAt offset: Int64?) throws(DiskError) -> Bool {
    try checkLocking("fcntl", descriptor)
    var lock = Self.lock(F_WRLCK, offset)
    guard fcntl(descriptor, Self.findLock, &lock) == 0 else {
      throw failure("fcntl", "fd \(descriptor)")
    }
    return lock.l_type != Int16(F_UNLCK)
  }

  private func checkLocking(_ operation: String, _ descriptor: Int32) throws(DiskError) {
    guard locksFiles else {
      throw DiskError(operation: operation, path: "fd \(descriptor)", code: ENOTSUP)
    }
  }

  /// Returns a lock description for one byte, or for the whole file if `offset` is nil.
  private static func lock(_ type: Int32, _ offset: Int64?) -> flock {
    var lock = flock()
    lock.l_type = Int16(type)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = off_t(offset ?? 0)
    lock.l_len = offset == nil ? 0 : 1
    return lock
  }

  #if canImport(Darwin)
    private static let (setLock, findLock) = (F_OFD_SETLK, F_OFD_GETLK)
  #else
    private static let (setLock, findLock) = (refrain_ofd_setlk, refrain_ofd_getlk)
  #endif
}

extension FileStatus {
  fileprivate init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .directory
      default: .other
      }
    allocated = Int64(status.st_blocks) * 512
    size = Int64(status.st_size)
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    changed = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    identity = Identity(
      device: UInt64(truncatingIfNeeded: status.st_dev),
      inode: UInt64(truncatingIfNeeded: status.st_ino))
  }
}
