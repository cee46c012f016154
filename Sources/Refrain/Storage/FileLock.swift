// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// flock(2) on an open file or directory. It belongs to the open file description: a second one in
/// the same process conflicts as one of another process would, and the kernel lets go when the
/// process dies.
enum FileLock {
  enum Kind: Sendable {
    case shared
    case exclusive
  }

  /// Takes the lock if that is possible at once.
  static func tryLock(_ descriptor: Int32, _ kind: Kind) -> Bool {
    flock(descriptor, (kind == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0
  }

  /// As `tryLock`, waiting some milliseconds: a child that was just forked holds what its parent
  /// holds until it executes its program.
  static func lockSoon(_ descriptor: Int32, _ kind: Kind) -> Bool {
    for attempt in 0..<5 {
      if attempt > 0 { usleep(2000) }
      if tryLock(descriptor, kind) { return true }
    }
    return false
  }

  /// Before closing, always: a process that is just being started holds a copy of every descriptor
  /// until it is replaced by its program, and with it the lock.
  static func unlock(_ descriptor: Int32) {
    _ = flock(descriptor, LOCK_UN)
  }
}
