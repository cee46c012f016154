// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// Small files of the cache as a whole, which only their owner can read. They do not count towards
/// the limit, and `MediaCache.removeAll` removes them. Most methods block: call them on `IOThreads`.
package final class PrivateFiles: Sendable {
  let path: String
  private let disk: any Disk
  /// The time of the last removal of all files by this cache.
  private let removedHere = Mutex<Uptime?>(nil)

  init(_ path: String, disk: any Disk) { (self.path, self.disk) = (path, disk) }

  /// Creates the files of any directory, which is made if it is missing, but not its parents.
  package convenience init(at directory: URL) {
    var path = directory.path(percentEncoded: false)
    if path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.init(path, disk: SystemDisk(for: path))
  }

  package func path(of name: String) -> String { "\(path)/\(name)" }

  /// Returns the first `limit` bytes of a file; nil if there is none.
  package func contents(of name: String, limit: Int) throws -> [UInt8]? {
    try disk.contents(of: path(of: name), limit: limit)
  }

  /// Returns a text that changes when the file is replaced; nil if there is none.
  package func identity(of name: String) throws -> String? {
    try disk.status(of: path(of: name)).map { "\($0.inode) \($0.changed)" }
  }

  /// Replaces a file, with mode 0600: a reader finds either the old contents or the new ones, and so
  /// does a power cut if it `syncs`, or after `sync`.
  package func replace(_ name: String, with bytes: [UInt8], syncs: Bool = true) throws {
    try disk.makeDirectory(path)
    // Best effort: the contents may grant access, and backups need none of it.
    do { try disk.setStoredMediaAttributes(path) } catch {}
    // Another process may be writing the same file.
    let temporary = "\(path(of: name)).\(UUID().uuidString)"
    do throws(DiskError) {
      try disk.makeFile(temporary, with: bytes, syncs: syncs)
      try disk.rename(temporary, to: path(of: name))
    } catch {
      // What is left is removed later.
      try? disk.remove(temporary)
      throw error
    }
    if syncs { try disk.syncDirectory(path) }
  }

  /// Makes the contents of replaced files survive a power cut, unless they are removed meanwhile.
  package func sync(_ names: [String]) throws {
    do throws(DiskError) {
      for name in names { try disk.syncFile(path(of: name)) }
      try disk.syncDirectory(path)
    } catch {
      guard error.isMissing else { throw error }
    }
  }

  /// Calls `body` while no other process, and no other thread, does the same. After ten seconds, which
  /// a stopped process may take, and on a file system that cannot lock, it is called without.
  package func withLock<Result>(_ body: () throws -> Result) throws -> Result {
    try disk.makeDirectory(path)
    let file = disk.openLocked(path(of: Self.lockName), within: .seconds(10))
    defer { withExtendedLifetime(file) {} }
    return try body()
  }

  /// A name with a dot is that of a temporary file, which `replace` has not renamed yet.
  package func names(withPrefix prefix: String) throws -> [String] {
    try disk.names(in: path).filter { $0.hasPrefix(prefix) && !$0.contains(".") }
  }

  package func remove(_ names: [String]) throws {
    guard try disk.status(of: path) != nil else { return }
    for name in names { try disk.remove(path(of: name)) }
    try disk.syncDirectory(path)
  }

  /// Removes files whose names begin with `prefix`: those not changed since a time, and temporary
  /// ones that ended programs have left. One changed in the last day may be in use.
  package func removeOld(
    withPrefix prefix: String, unchangedSince time: Date = .distantPast, except kept: String? = nil
  ) throws {
    let yesterday = Date.now - 86_400
    try remove(
      disk.names(in: path).filter { name in
        guard name.hasPrefix(prefix), name != kept,
          let status = try disk.status(of: path(of: name)), status.kind == .file
        else { return false }
        let changed = Date(timeIntervalSince1970: status.changed)
        return changed < (name.contains(".") ? yesterday : time)
      })
  }

  // Files without secrets, which other processes rely on.
  static let lockName = "lock"
  static let removalName = "removal"

  /// Returns the time of the last removal of all files: what is older must not be stored again.
  package func lastRemoval() throws -> Uptime? {
    try contents(of: Self.removalName, limit: 4096).flatMap {
      try? JSONDecoder().decode(Uptime.self, from: Data($0))
    }
  }

  /// Whether this cache has removed all files since a time. Does not block.
  package func isRemovedHere(since earlier: Uptime) -> Bool {
    removedHere.withLock { $0?.isAfter(earlier) ?? false }
  }

  /// Removes all files, and records that. `time` is called before the first one is removed.
  func removeAll(at time: () -> Uptime) throws(MediaCacheError) {
    do {
      try withLock {
        let now = time()
        removedHere.withLock { $0 = now }
        var failure: (any Error)?
        func attempt(_ step: () throws -> Void) {
          do { try step() } catch { failure = failure ?? error }
        }
        for name in try disk.names(in: path) where name != Self.lockName {
          attempt {
            let isDirectory = try disk.status(of: path(of: name))?.kind == .directory
            if !isDirectory, name != Self.removalName { try disk.remove(path(of: name)) }
          }
        }
        attempt { try replace(Self.removalName, with: Array(JSONEncoder().encode(now))) }
        // Whatever failed: a power cut must not bring the files back.
        attempt { try disk.syncDirectory(path) }
        if let failure { throw failure }
      }
    } catch {
      throw MediaCacheError(
        .storage,
        "The removal of the headers, cookies, positions and queue in \(path) failed or could not be "
          + "recorded, so a program that runs may store its own again: \(error).",
        remedy: "Check the disk and the permissions of the cache directory, then try again.")
    }
  }
}

extension CacheKey {
  /// A name for a file about the key's resource: 32 hexadecimal digits.
  package var fileName: String { KeyHash.name(of: self) }
}
