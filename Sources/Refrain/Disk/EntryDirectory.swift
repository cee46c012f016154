// SPDX-License-Identifier: MIT
import Foundation

/// The files of one entry: a directory with a sidecar, a data file and, while the entry is written
/// to, a journal. Every method blocks; call them on `IOThreads` only.
struct EntryDirectory: Sendable {
  let path: String
  let disk: any Disk
  let bootIdentity: String
  /// Shared by all entries of a store.
  let locks: WriterLocks

  var recordPath: String { "\(path)/\(EntryRecord.fileName)" }

  var name: String { path.split(separator: "/").last.map(String.init) ?? path }

  /// The directory of all entries whose names end in the same two digits.
  var shardPath: String { path.parentPath }

  // MARK: Directories

  /// Makes the directory and its parents if they are missing.
  ///
  /// - Returns: whether the directory was missing, provided that the caller holds the lock.
  func create() throws(DiskError) -> Bool {
    let isNew = try disk.status(of: path) == nil
    for attempt in 1... {
      do throws(DiskError) {
        try disk.makeDirectory(shardPath)
        try disk.makeDirectory(path)
        break
      } catch {
        // Another program has removed the cache directory, or an empty shard was removed.
        guard error.isMissing, attempt < 100 else { throw error }
        try createParents()
      }
    }
    return isNew
  }

  /// Makes the directory of all shards and its parents: they may be removed while the cache is in
  /// use.
  func createParents() throws(DiskError) {
    let entries = shardPath.parentPath
    try disk.makeDirectories(entries)
    // Best effort, as on opening the cache: on failure the media is only backed up needlessly.
    do { try disk.setStoredMediaAttributes(entries) } catch {}
  }

  /// Makes the names of the entry's parent directories survive a power cut. `create` does not,
  /// because no bytes are stored yet that would be worth the wait.
  func syncParents() throws(DiskError) {
    var parent = path
    // The shard, the directory of all shards, and the cache directory.
    for _ in 0..<3 {
      parent = parent.parentPath
      if parent.isEmpty { return }
      try disk.syncDirectory(parent)
    }
  }

  // MARK: Changing

  /// Replaces the sidecar by rename(2).
  ///
  /// - Parameters:
  ///   - durably: whether the new record survives a power cut on return. If not, a power cut may
  ///     leave neither the old one nor the new one.
  ///   - keepsAge: whether the time of last access stays unchanged.
  func write(_ record: EntryRecord, durably: Bool, keepsAge: Bool = false) throws {
    let bytes = try record.encoded()
    let temporary = "\(recordPath).new"
    let age = keepsAge ? try disk.status(of: recordPath)?.changed : nil
    do throws(DiskError) {
      try disk.makeFile(temporary, with: bytes, syncs: durably)
    } catch {
      guard error.isObstacle else { throw error }
      try remove(temporary)
      try disk.makeFile(temporary, with: bytes, syncs: durably)
    }
    if let age { try disk.setChangeTime(of: temporary, to: age) }
    if try disk.isDirectory(recordPath) { try remove(recordPath) }
    try disk.rename(temporary, to: recordPath)
    if durably { try disk.syncDirectory(path) }
  }

  /// Removes some files. Processes that have one open can still read it (unlink(2)).
  func removeFiles(where isUnwanted: (String) -> Bool) throws(DiskError) {
    for name in try disk.names(in: path) where isUnwanted(name) { try remove("\(path)/\(name)") }
  }

  /// Removes the journals of a generation that a record of number `epoch` has superseded.
  func removeJournals(of generation: String, before epoch: Int) throws(DiskError) {
    try removeFiles { name in
      SpanJournal.epoch(of: name, generation: generation).map { $0 < epoch } ?? false
    }
  }

  /// Removes every file, and the directory. Processes that have a file open can still read it.
  ///
  /// - Parameters:
  ///   - found: the files, if they were just listed.
  ///   - keepsShard: whether the shard stays, even if it is empty then.
  func removeFiles(_ found: Files? = nil, keepsShard: Bool = false) throws(DiskError) {
    // The record goes first: a partly removed entry then counts as empty.
    try remove(recordPath)
    for isLast in [false, true] {
      let names =
        if let found, !isLast { found.statuses.map(\.name) } else { try disk.names(in: path) }
      // The record was removed above, unless it was added since.
      for name in names where isLast || name != EntryRecord.fileName {
        try remove("\(path)/\(name)")
      }
      do throws(DiskError) {
        try disk.removeDirectory(path)
        break
      } catch {
        // Files were added since the directory was listed.
        guard !isLast, error.code == ENOTEMPTY || error.code == EEXIST else { throw error }
      }
    }
    if !keepsShard { disk.removeIfEmpty(shardPath) }
  }

  /// Removes a file, or a directory in its place with all its contents.
  func remove(_ path: String) throws(DiskError) {
    do throws(DiskError) {
      return try disk.removeFile(path)
    } catch {
      // unlink(2) of a directory: EISDIR on Linux, EPERM elsewhere.
      guard error.code == EISDIR || error.code == EPERM, try disk.isDirectory(path) else {
        throw error
      }
    }
    for name in try disk.names(in: path) { try remove("\(path)/\(name)") }
    try disk.removeDirectory(path)
  }
}
