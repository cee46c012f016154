// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Glibc)
  import CLinuxSystem
#elseif canImport(Darwin)
  import Darwin
#endif

struct SystemDisk: Disk {
  /// Otherwise every lock fails: in the container of an app group, where iOS, tvOS and visionOS end
  /// a suspended app that holds one (exception code 0xdead10cc).
  let locksFiles: Bool

  init(for directory: String = "") {
    locksFiles = !"\(directory)/".contains("/Containers/Shared/AppGroup/")
  }

  func makeDirectory(_ path: String) throws(DiskError) {
    try call("mkdir", path, accepting: [EEXIST]) { mkdir(path, 0o700) }
  }

  func setStoredMediaAttributes(_ path: String) throws {
    #if canImport(Darwin)
      // The attribute has no effect on a Mac, which encrypts whole volumes.
      #if !os(macOS) && !targetEnvironment(macCatalyst)
        // Files inherit it from their directory. Not `.complete`, which an app may have as its
        // default: some seconds after the device is locked, such files can be neither read nor
        // opened, and background playback must continue.
        try FileManager.default.setAttributes(
          [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication],
          ofItemAtPath: path)
      #endif
      var directory = URL(filePath: path, directoryHint: .isDirectory)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try directory.setResourceValues(values)
    #endif
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> Int32 {
    let flags =
      switch mode {
      // A pipe in a file's place must not block.
      case .read: O_RDONLY | O_NONBLOCK
      case .readWrite: O_RDWR
      case .create: O_RDWR | O_CREAT | O_TRUNC
      case .lock: O_RDWR | O_CREAT
      }
    // A cache also stores keys of streams. No symbolic link in a file's place is followed.
    return try call("open", path) { Foundation.open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600) }
  }

  func close(_ descriptor: Int32) { _ = Foundation.close(descriptor) }

  func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64
  ) throws(DiskError) {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let written = try call("pwrite", "fd \(descriptor)") {
        pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + Int64(done)))
      }
      guard written > 0 else { throw failure("pwrite", "fd \(descriptor)") }
      done += written
    }
  }

  func sync(_ descriptor: Int32) throws(DiskError) {
    #if canImport(Darwin)
      try call("fsync", "fd \(descriptor)") { fullSync(descriptor) }
    #else
      try call("fdatasync", "fd \(descriptor)") { fdatasync(descriptor) }
    #endif
  }

  func syncDirectory(_ path: String) throws(DiskError) {
    let descriptor = try call("open", path) {
      Foundation.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    }
    defer { close(descriptor) }
    try call("fsync", path) { fullSync(descriptor) }
  }

  /// On Darwin fsync(2) only reaches the drive's cache; F_FULLFSYNC (fcntl(2)) reaches the medium,
  /// if the file system supports it.
  private func fullSync(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
    #endif
    return fsync(descriptor)
  }

  func rename(_ old: String, to new: String) throws(DiskError) {
    // Not repeated: had the interrupted call taken effect, the next one would find nothing.
    guard Foundation.rename(old, new) == 0 else { throw failure("rename", old) }
  }

  func remove(_ path: String) throws(DiskError) {
    try call("remove", path, accepting: [ENOENT]) { Foundation.remove(path) }
  }

  func truncate(_ descriptor: Int32, to size: Int64) throws(DiskError) {
    try call("ftruncate", "fd \(descriptor)") { ftruncate(descriptor, off_t(size)) }
  }

  func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(DiskError) -> Int {
    try call("pread", "fd \(descriptor)") {
      pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
    }
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
    try call("fstat", "fd \(descriptor)") { fstat(descriptor, &found) }
    return FileStatus(found)
  }

  func status(of path: String) throws(DiskError) -> FileStatus? {
    var found = stat()
    let result = try call("lstat", path, accepting: [ENOENT, ENOTDIR]) { lstat(path, &found) }
    return result == 0 ? FileStatus(found) : nil
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
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
  }

  func holes(in descriptor: Int32) throws(DiskError) -> RangeSet<Int64> {
    #if canImport(Glibc)
      let size = try status(of: descriptor).size
      var holes = RangeSet(0..<size)
      var offset: Int64 = 0
      /// Nil if nothing follows, or another process has just shortened the file.
      func seek(_ call: (Int32, off_t) -> off_t) throws(DiskError) -> Int64? {
        let found = try self.call("lseek", "fd \(descriptor)", accepting: [ENXIO]) {
          call(descriptor, off_t(offset))
        }
        return found < 0 ? nil : Int64(found)
      }
      while let data = try seek(refrain_seek_data) {
        offset = data
        offset = try seek(refrain_seek_hole) ?? max(data, size)
        holes.remove(contentsOf: data..<offset)
      }
      return holes
    #else
      return RangeSet()
    #endif
  }

  func setChangeTime(of path: String, to time: Double) throws(DiskError) {
    guard abs(time) < 1e12 else { return }
    let seconds = time.rounded(.down)
    let spec = timespec(tv_sec: Int(seconds), tv_nsec: Int((time - seconds) * 1e9))
    try call("utimensat", path) { utimensat(AT_FDCWD, path, [spec, spec], 0) }
  }

  func lock(_ descriptor: Int32, _ kind: LockKind) throws(DiskError) -> Bool {
    try control(descriptor, Self.setLock, kind) != nil
  }

  func unlock(_ descriptor: Int32, _ kind: LockKind) {
    _ = try? control(descriptor, Self.setLock, kind, type: F_UNLCK)
  }

  func isLocked(_ descriptor: Int32, against kind: LockKind) throws(DiskError) -> Bool {
    try control(descriptor, Self.findLock, kind)?.l_type != Int16(F_UNLCK)
  }

  /// Nil if there is a conflicting lock.
  private func control(
    _ descriptor: Int32, _ command: Int32, _ kind: LockKind, type: Int32? = nil
  ) throws(DiskError) -> flock? {
    guard locksFiles else { throw DiskError(operation: "fcntl", path: "", code: ENOTSUP) }
    var lock = flock()
    lock.l_type = Int16(type ?? (kind == .shared ? F_RDLCK : F_WRLCK))
    lock.l_whence = Int16(SEEK_SET)
    // A length of 0 is the whole file.
    if case .byte(let offset) = kind { (lock.l_start, lock.l_len) = (off_t(offset), 1) }
    let result = try call("fcntl", "fd \(descriptor)", accepting: [EAGAIN, EACCES]) {
      fcntl(descriptor, command, &lock)
    }
    return result == 0 ? lock : nil
  }

  #if canImport(Darwin)
    private static let (setLock, findLock) = (F_OFD_SETLK, F_OFD_GETLK)
  #else
    private static let (setLock, findLock) = (refrain_ofd_setlk, refrain_ofd_getlk)
  #endif

  /// Repeats a call that a signal interrupted (EINTR, signal(7)). Does not throw `codes`.
  @discardableResult
  private func call<Value: FixedWidthInteger>(
    _ operation: String, _ path: @autoclosure () -> String, accepting codes: [Int32] = [],
    _ body: () -> Value
  ) throws(DiskError) -> Value {
    while true {
      let result = body()
      if result >= 0 || codes.contains(errno) { return result }
      if errno != EINTR { throw failure(operation, path()) }
    }
  }

  private func failure(_ operation: String, _ path: String) -> DiskError {
    DiskError(operation: operation, path: path, code: errno)
  }
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
    links = Int(status.st_nlink)
    inode = UInt64(status.st_ino)
  }
}
