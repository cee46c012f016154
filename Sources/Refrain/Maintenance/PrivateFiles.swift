// SPDX-License-Identifier: MIT
package import Foundation

/// Small files in the cache directory that only their owner can read: what belongs to the cache as
/// a whole, and to none of its entries. They do not count towards the limit, and
/// `MediaCache.removeAll` removes them.
///
/// All methods block: call them on `IOThreads` only.
package struct PrivateFiles: Sendable {
  let path: String
  let disk: any Disk
  /// The budget of the cache that the files belong to; nil for the files of any other directory.
  let budget: DiskBudget?

  init(_ budget: DiskBudget) {
    path = "\(budget.directory)/private"
    disk = budget.disk
    self.budget = budget
  }

  /// Returns the path of a file, for messages.
  package func path(of name: String) -> String { "\(path)/\(name)" }

  package struct Contents: Sendable {
    package var bytes: [UInt8]
    /// Whether the file is larger than the limit: `bytes` are its beginning.
    package var isCut: Bool
  }

  /// Returns the first `limit` bytes of a file; nil if there is none.
  package func contents(of name: String, limit: Int) throws -> Contents? {
    try disk.file(at: path(of: name), limit: limit, cutsAtLimit: true).map {
      Contents(
        bytes: $0.bytes, isCut: $0.status.size > Int64(limit))
    }
  }

  /// Replaces a file, with mode 0600: a reader, and a power cut, find either the old contents or
  /// the new ones.
  ///
  /// - Parameter syncs: false for a file that changes every second: until `sync`, a power cut may
  ///   cost its contents, while the end of the program costs nothing.
  package func replace(_ name: String, with bytes: [UInt8], syncs: Bool = true) throws {
    try disk.makeDirectory(path)
    // Best effort, as for the entries: the contents may grant access, and backups need none of it.
    do { try disk.setStoredMediaAttributes(path) } catch {}
    // Another process may be writing the same file.
    let temporary = "\(path(of: name)).\(UUID().uuidString)"
    do {
      let descriptor = try disk.open(temporary, .create)
      defer { disk.close(descriptor) }
      try disk.write(bytes, to: descriptor, at: 0)
      if syncs { try disk.sync(descriptor) }
      try disk.rename(temporary, to: path(of: name))
    } catch {
      // The first error is reported. What is left is removed later.
      try? disk.removeFile(temporary)
      throw error
    }
    if syncs { try disk.syncDirectory(path) }
  }

  /// Makes the contents of files, and the names in the directory, survive a power cut. Missing
  /// files are no error.
  package func sync(_ names: [String]) throws {
    for name in names {
      let descriptor: Int32
      do throws(DiskError) {
        descriptor = try disk.open(path(of: name), .read)
      } catch {
        if error.isMissing { continue }
        throw error
      }
      defer { disk.close(descriptor) }
      try disk.sync(descriptor)
    }
    try syncDirectory()
  }

  /// Removes a file. A missing one is no error.
  package func remove(_ name: String) throws {
    try disk.removeFile(path(of: name))
    try syncDirectory()
  }

  /// Makes the names in the directory survive a power cut. A missing directory is no error.
  func syncDirectory() throws(DiskError) {
    do throws(DiskError) {
      try disk.syncDirectory(path)
    } catch {
      guard error.isMissing else { throw error }
    }
  }

  /// Removes the files whose names begin with `prefix`, except one, and that have not been changed
  /// since a date.
  package func removeFiles(
    withPrefix prefix: String, except kept: String, unchangedSince date: Date
  ) throws {
    for name in try disk.names(in: path)
    where name != kept && name.hasPrefix(prefix) && !Self.permanent.contains(name) {
      guard let status = try disk.status(of: path(of: name)), status.kind == .file,
        status.changed < date.timeIntervalSince1970
      else { continue }
      try disk.removeFile(path(of: name))
    }
  }

  /// Files without secrets, which other processes rely on.
  static let permanent: Set = [lockName, removalName]
}
