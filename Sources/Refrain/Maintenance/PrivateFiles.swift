// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// Small files in the cache directory that only their owner can read: what belongs to the cache as
/// a whole, and to none of its entries. They do not count towards the limit, and
/// `MediaCache.removeAll` removes them.
///
/// All methods block, unless noted otherwise: call them on `IOThreads` only.
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

  // MARK: One file

  /// Returns the first `limit` bytes of a file; nil if there is none.
  package func contents(of name: String, limit: Int) throws -> [UInt8]? {
    try disk.contents(of: path(of: name), limit: limit)
  }

  /// Returns a text that changes when the file is replaced; nil if there is none.
  package func identity(of name: String) throws -> String? {
    try disk.status(of: path(of: name)).map { "\($0.inode) \($0.changed)" }
  }

  /// Replaces a file, with mode 0600: a reader, and a power cut, find either the old contents or
  /// the new ones.
  ///
  /// - Parameters:
  ///   - syncs: false for a file that changes every second: until `sync`, a power cut may cost its
  ///     contents, while the end of the program costs nothing.
  ///   - turn: calls its argument once the file may be replaced, or never. Only that needs a lock,
  ///     not the writing before, which may take seconds.
  package func replace(
    _ name: String, with bytes: [UInt8], syncs: Bool = true,
    inTurn turn: (() throws -> Void) throws -> Void = { try $0() }
  ) throws {
    try disk.makeDirectory(path)
    // Best effort, as for the entries: the contents may grant access, and backups need none of it.
    do { try disk.setStoredMediaAttributes(path) } catch {}
    // Another process may be writing the same file.
    let temporary = "\(path(of: name)).\(UUID().uuidString)"
    var isRenamed = false
    // The first error is reported. What is left is removed later.
    defer { if !isRenamed { try? disk.remove(temporary) } }
    try disk.makeFile(temporary, with: bytes, syncs: syncs)
    try turn {
      try disk.rename(temporary, to: path(of: name))
      isRenamed = true
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

  // MARK: Several files

  /// Calls `body` while no other process, and no other thread, does the same: the right to read and
  /// then replace a file.
  ///
  /// A stopped process keeps that right. After ten seconds the work is done without, as on a file
  /// system that cannot lock: an update of the other process may then be lost.
  package func withLock<Result>(_ body: () throws -> Result) throws -> Result {
    try disk.makeDirectory(path)
    let file = disk.openLocked(path(of: Self.lockName), within: .seconds(10))
    defer { withExtendedLifetime(file) {} }
    return try body()
  }

  package func names(withPrefix prefix: String) throws -> [String] {
    try disk.names(in: path).filter { $0.hasPrefix(prefix) && !Self.isTemporary($0) }
  }

  /// Whether `replace` had not renamed the file yet: only such names have a dot.
  private static func isTemporary(_ name: String) -> Bool { name.contains(".") }

  package func remove(_ names: [String]) throws {
    guard !names.isEmpty, try disk.status(of: path) != nil else { return }
    for name in names { try disk.remove(path(of: name)) }
    try disk.syncDirectory(path)
  }

  /// Removes files whose names begin with `prefix`: temporary ones that ended programs have left,
  /// and others that were not changed since a time. A temporary one changed in the last day may be
  /// in use.
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
        return changed < (Self.isTemporary(name) ? yesterday : time)
      })
  }

  // MARK: Removing all

  static let lockName = "lock"
  static let removalName = "removal"
  /// Files without secrets, which other processes rely on.
  private static let permanent: Set = [lockName, removalName]

  /// Returns the time of the last removal of all files: a process that keeps a file in memory must
  /// not store again what is older. Nil if there was none, or its record is damaged.
  package func lastRemoval() throws -> Uptime? {
    try contents(of: Self.removalName, limit: 4096).flatMap {
      try? JSONDecoder().decode(Uptime.self, from: Data($0))
    }
  }

  /// Whether this cache has removed all files since a time. Other caches of the directory are not
  /// considered. Does not block.
  package func isRemovedHere(since earlier: Uptime) -> Bool {
    removedHere.withLock { $0?.isAfter(earlier) ?? false }
  }

  /// Removes all files but the permanent ones, and records that.
  ///
  /// - Parameter time: returns the time; called before the first file is removed.
  func removeAll(at time: () -> Uptime) throws(MediaCacheError) {
    do {
      try withLock {
        let now = time()
        removedHere.withLock { $0 = now }
        var failure: (any Error)?
        for name in try disk.names(in: path) where !Self.permanent.contains(name) {
          do {
            guard try disk.status(of: path(of: name))?.kind != .directory else { continue }
            try disk.remove(path(of: name))
          } catch {
            failure = failure ?? error
          }
        }
        do {
          try replace(Self.removalName, with: Array(JSONEncoder().encode(now)))
        } catch {
          // A power cut must not bring the files back.
          try? disk.syncDirectory(path)
          failure = failure ?? error
        }
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
