// SPDX-License-Identifier: MIT
import Foundation

/// Syncs directories for several threads: a thread that asks while a directory is being synced
/// shares the next sync of it with all others that have asked by then.
///
/// A sync that begins after a name was changed makes the change survive a power cut, whichever
/// thread began it. So sharing weakens nothing, and many entries recorded at once wait for few
/// syncs of their common directories.
///
/// Unchecked because `NSCondition` guards `directories` and the compiler cannot see it: `Mutex` has
/// no condition to wait on.
final class DirectorySyncs: @unchecked Sendable {
  private struct Directory {
    var began = 0
    /// The number of the last sync that succeeded.
    var ended = 0
    var isRunning = false
    var callers = 0
  }

  private let condition = NSCondition()
  private var directories: [String: Directory] = [:]

  /// Returns the number of threads that wait for a sync of a directory or run one.
  func callers(of path: String) -> Int {
    condition.lock()
    defer { condition.unlock() }
    return directories[path]?.callers ?? 0
  }

  /// Makes the directory's current names survive a power cut. Blocks.
  func sync(_ path: String, _ disk: any Disk) throws(DiskError) {
    condition.lock()
    directories[path, default: Directory()].callers += 1
    let wanted = (directories[path]?.began ?? 0) + 1
    defer {
      if directories[path]?.callers == 1 {
        directories[path] = nil
      } else {
        directories[path]?.callers -= 1
      }
      condition.unlock()
    }
    while let directory = directories[path], directory.ended < wanted {
      if directory.isRunning {
        condition.wait()
        continue
      }
      let number = directory.began + 1
      directories[path]?.began = number
      directories[path]?.isRunning = true
      condition.unlock()
      let result = Result { () throws(DiskError) in try disk.syncDirectory(path) }
      condition.lock()
      directories[path]?.isRunning = false
      if case .success = result { directories[path]?.ended = number }
      condition.broadcast()
      // The other threads try for themselves.
      try result.get()
    }
  }
}
