// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A disk that makes the system calls themselves.
struct SystemDisk: Disk {
  /// Whether files are locked; otherwise every lock fails as on a file system without locks.
  let locksFiles: Bool

  init(locksFiles: Bool = true) { self.locksFiles = locksFiles }

  /// Creates the disk for a directory. In the container of an app group nothing is locked.
  init(for directory: String) { self.init(locksFiles: !Self.isInGroupContainer(directory)) }

  /// Whether a path is in the container of an app group on a system that suspends apps, and ends
  /// one that holds a lock there then (exception code 0xdead10cc): `…/Containers/Shared/AppGroup/`
  /// on iOS, tvOS and visionOS. macOS suspends no app, and has `~/Library/Group Containers/`.
  static func isInGroupContainer(_ path: String) -> Bool {
    "\(path)/".contains("/Containers/Shared/AppGroup/")
  }

  func makeDirectory(_ path: String) throws(DiskError) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("mkdir", path) }
  }

  func setStoredMediaAttributes(_ path: String) throws {
    try StoredMediaAttributes.set(on: path)
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> Int32 {
    let flags =
      switch mode {
      // Opening a pipe in a file's place must not block.
      case .read: O_RDONLY | O_NONBLOCK
      case .readWrite: O_RDWR
      case .create: O_RDWR | O_CREAT | O_TRUNC
      case .lock: O_RDWR | O_CREAT
      }
    // For the owner alone, whatever the umask: a cache also stores keys of streams. A symbolic link
    // in a file's place must not be followed.
    let descriptor = retrying { systemOpen(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600) }
    guard descriptor >= 0 else { throw failure("open", path) }
    return Int32(descriptor)
  }

  func close(_ descriptor: Int32) {
    _ = systemClose(descriptor)
  }

  func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64
  ) throws(DiskError) {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let written = retrying {
        pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + Int64(done)))
      }
      guard written > 0 else { throw failure("pwrite", "fd \(descriptor)") }
      done += written
    }
  }

  func sync(_ descriptor: Int32) throws(DiskError) {
    #if canImport(Darwin)
      let result = fullSync(descriptor)
    #else
      let result = retrying { Int(fdatasync(descriptor)) }
    #endif
    guard result == 0 else { throw failure("fdatasync", "fd \(descriptor)") }
  }

  func syncDirectory(_ path: String) throws(DiskError) {
    let descriptor = retrying { systemOpen(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
    guard descriptor >= 0 else { throw failure("open", path) }
    defer { _ = systemClose(Int32(descriptor)) }
    #if canImport(Darwin)
      let result = fullSync(Int32(descriptor))
    #else
      let result = retrying { Int(fsync(Int32(descriptor))) }
    #endif
    guard result == 0 else { throw failure("fsync", path) }
  }

  #if canImport(Darwin)
    /// On Darwin fsync(2) only reaches the drive's cache; F_FULLFSYNC (fcntl(2)) reaches the
    /// medium, if the file system supports it.
    private func fullSync(_ descriptor: Int32) -> Int {
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
      return retrying { Int(fsync(descriptor)) }
    }
  #endif

  func rename(_ old: String, to new: String) throws(DiskError) {
    guard systemRename(old, new) == 0 else { throw failure("rename", old) }
  }

  func removeFile(_ path: String) throws(DiskError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw failure("unlink", path) }
  }

  func removeDirectory(_ path: String) throws(DiskError) {
    guard rmdir(path) == 0 || errno == ENOENT else { throw failure("rmdir", path) }
  }

  func truncate(_ descriptor: Int32, to size: Int64) throws(DiskError) {
    guard retrying({ Int(ftruncate(descriptor, off_t(size))) }) == 0 else {
      throw failure("ftruncate", "fd \(descriptor)")
    }
  }

  func failure(_ operation: String, _ path: String) -> DiskError {
    DiskError(operation: operation, path: path, code: errno)
  }
}

/// Repeats a call that a signal interrupted (EINTR, signal(7)).
func retrying(_ call: () -> Int) -> Int {
  while true {
    let result = call()
    if result >= 0 || errno != EINTR { return result }
  }
}

// The methods of `SystemDisk` hide the C functions of the same names.
private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int {
  Int(open(path, flags, mode))
}
private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
private func systemRename(_ old: String, _ new: String) -> Int32 { rename(old, new) }
