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
  private let disk: any Disk

  /// Nil where the directory is missing or another holds the lock. Blocks, though not for the lock.
  init?(_ directory: EntryDirectory) {
    let disk = directory.disk
    // Whoever removes an entry holds its lock: the directory that is locked may not be the one
    // that bears the name by then.
    for _ in 0..<4 {
      guard let opened = try? disk.open(directory.path, .read) else { return nil }
      guard (try? disk.lock(opened, .exclusive)) == true else {
        disk.close(opened)
        return nil
      }
      if let held = try? disk.status(of: opened), let named = try? disk.status(of: directory.path),
        held.identity == named.identity
      {
        self.disk = disk
        descriptor = opened
        return
      }
      disk.unlock(opened)
      disk.close(opened)
    }
    return nil
  }

  deinit {
    disk.unlock(descriptor)
    disk.close(descriptor)
  }

  /// Waits some milliseconds for one who only looks whether it is held.
  static func acquire(_ directory: EntryDirectory) -> WriterLock? {
    for attempt in 0..<5 {
      if attempt > 0 { usleep(2000) }
      if let lock = WriterLock(directory) { return lock }
    }
    return nil
  }
}
