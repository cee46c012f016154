// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The right to change one entry's files: an exclusive flock(2) on its directory, held for as long
/// as this lives. One process at a time has it; the kernel takes it back when the process dies.
final class WriterLock: Sendable {
  private let descriptor: Int32

  /// Nil where the directory is missing or another holds the lock. Blocks, though not for the lock.
  init?(directory path: String) {
    // Whoever removes an entry holds its lock: the directory that is locked may not be the one
    // that bears the name by then.
    for _ in 0..<4 {
      let opened = Int32(retrying { Int(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) })
      guard opened >= 0 else { return nil }
      guard FileLock.tryLock(opened, .exclusive) else {
        _ = close(opened)
        return nil
      }
      var held = stat()
      var named = stat()
      if fstat(opened, &held) == 0, stat(path, &named) == 0, held.st_ino == named.st_ino,
        held.st_dev == named.st_dev
      {
        descriptor = opened
        return
      }
      _ = close(opened)
    }
    return nil
  }

  deinit {
    FileLock.unlock(descriptor)
    _ = close(descriptor)
  }

  /// Waits some milliseconds for one who only looks whether it is held.
  static func acquire(directory path: String) -> WriterLock? {
    for attempt in 0..<5 {
      if attempt > 0 { usleep(2000) }
      if let lock = WriterLock(directory: path) { return lock }
    }
    return nil
  }
}
