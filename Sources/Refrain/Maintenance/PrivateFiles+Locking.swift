// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The right to read and then replace a file, of which one process at a time has it.
extension PrivateFiles {
  static let lockName = "lock"

  /// A process that is stopped while it holds the lock keeps it. After this time the work is done
  /// without the lock, as on a file system that cannot lock: an update of the other process may
  /// then be lost.
  private static let longestWait: Duration = .seconds(10)

  /// Calls `body` while no other process, and no other thread, does the same.
  package func withLock<Result>(_ body: () throws -> Result) throws -> Result {
    try disk.makeDirectory(path)
    let descriptor = lockedDescriptor()
    defer {
      if let descriptor {
        disk.unlock(descriptor)
        disk.close(descriptor)
      }
    }
    return try body()
  }

  private func lockedDescriptor() -> Int32? {
    let end = ContinuousClock.now + Self.longestWait
    while ContinuousClock.now < end {
      guard let descriptor = try? disk.open(path(of: Self.lockName), .lock) else { return nil }
      do throws(DiskError) {
        if try disk.lock(descriptor, .exclusive) {
          let opened = try disk.status(of: descriptor)
          // The file may have been removed and made again in the meantime.
          if try disk.status(of: path(of: Self.lockName))?.identity == opened.identity {
            return descriptor
          }
          disk.unlock(descriptor)
        }
        disk.close(descriptor)
      } catch {
        disk.unlock(descriptor)
        disk.close(descriptor)
        return nil
      }
      usleep(2000)
    }
    return nil
  }
}
