// SPDX-License-Identifier: MIT
import RefrainLocks

/// A right that one program at a time has for as long as it wants, such as to run the downloads of
/// a queue.
extension PrivateFiles {
  /// The right to run the downloads of the proxy's page.
  package static let downloadsLockName = "downloads-lock"

  /// A right, until `release()`, or until the program ends in any way. Release it on `IOThreads`.
  package final class Held: Sendable {
    private let disk: any Disk
    /// Nil after the release, and on a file system that cannot lock.
    private let descriptor: Mutex<Int32?>

    fileprivate init(_ disk: any Disk, _ descriptor: Int32?) {
      self.disk = disk
      self.descriptor = Mutex(descriptor)
    }

    deinit { release() }

    package func release() {
      let held = descriptor.withLock { descriptor in
        defer { descriptor = nil }
        return descriptor
      }
      guard let held else { return }
      disk.unlock(held)
      disk.close(held)
    }
  }

  /// Returns a right; nil if another program, or another holder in this one, has it. On a file
  /// system that cannot lock, everybody has it.
  ///
  /// - Parameter name: of the lock, which `removeAll` keeps.
  package func hold(_ name: String) throws -> Held? {
    try disk.makeDirectory(path)
    let descriptor = try disk.open(path(of: name), .lock)
    do throws(DiskError) {
      if try disk.lock(descriptor, .exclusive) {
        let opened = try disk.status(of: descriptor)
        // The file may have been removed and made again in the meantime.
        if try disk.status(of: path(of: name))?.identity == opened.identity {
          return Held(disk, descriptor)
        }
        disk.unlock(descriptor)
      }
      disk.close(descriptor)
      return nil
    } catch {
      disk.unlock(descriptor)
      disk.close(descriptor)
      return Held(disk, nil)
    }
  }
}
