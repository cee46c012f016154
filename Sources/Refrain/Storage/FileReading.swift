// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
  import CLinuxSystem
#elseif canImport(Darwin)
  import Darwin
#endif

/// Reads and facts of an open file, which change nothing.
enum FileReading {
  /// pread(2): blocks on a disk.
  static func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(DiskError) -> Int {
    let count = retrying { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    guard count >= 0 else {
      throw DiskError(operation: "pread", path: "fd \(descriptor)", code: errno)
    }
    return count
  }

  /// What the page cache holds at `offset`, without waiting for a disk; nil where that cannot be
  /// told or nothing is there. Never blocks, so any thread may call it.
  static func readWithoutWaiting(
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

  /// Allocated blocks in bytes, and the size (fstat(2)).
  static func measure(_ descriptor: Int32) -> (allocated: Int64, size: Int64)? {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    return (Int64(status.st_blocks) * 512, Int64(status.st_size))
  }

  /// A whole small file; nil where it is missing, throws where it cannot be read or is larger than
  /// `limit`.
  static func contents(of path: String, limit: Int = 64 << 20) throws(DiskError) -> [UInt8]? {
    // A pipe in its place must not make anybody wait, nor a link lead elsewhere.
    let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW
    let descriptor = Int32(retrying { Int(open(path, flags)) })
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw DiskError(operation: "open", path: path, code: errno)
    }
    defer { _ = close(descriptor) }
    guard let size = measure(descriptor)?.size, size <= Int64(limit) else {
      throw DiskError(operation: "read", path: path, code: EFBIG)
    }
    var bytes = [UInt8](repeating: 0, count: Int(size))
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
    return bytes
  }
}

extension FileReading {
  /// Allocated blocks in bytes, the size, and the time of the last change in seconds since 1970
  /// (lstat(2)).
  static func status(of path: String) -> (allocated: Int64, size: Int64, changed: Double)? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    return (
      Int64(status.st_blocks) * 512, Int64(status.st_size),
      Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    )
  }

  /// Whether it is a directory itself, and no link to one.
  static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Whether it is an ordinary file.
  static func isRegular(_ descriptor: Int32) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Sets the time of the last change to now (utimensat(2)). Of no consequence where it fails: the
  /// entry then looks older than it is.
  static func touch(_ path: String) {
    _ = utimensat(AT_FDCWD, path, nil, 0)
  }

  /// Sets the time of the last change, in seconds since 1970. Of no consequence where it fails.
  static func touch(_ path: String, at time: Double) {
    guard time.isFinite, time >= 0, time < 1e12 else { return }
    let seconds = time.rounded(.down)
    let spec = timespec(tv_sec: Int(seconds), tv_nsec: Int((time - seconds) * 1e9))
    _ = utimensat(AT_FDCWD, path, [spec, spec], 0)
  }
}
