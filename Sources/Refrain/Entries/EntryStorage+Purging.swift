// SPDX-License-Identifier: MIT
import Foundation

/// Purging an open entry.
extension EntryStorage {
  /// Makes an empty generation the current one, and removes the files of the one before: nothing of
  /// that one is stored or given to a further reader. Its readers continue.
  ///
  /// - Returns: whether there were files.
  /// - Throws: `DiskError`; `MediaCacheError`, `.inUse` if another process is writing the entry.
  func purge(_ entry: Entry, at time: Date) throws -> Bool {
    guard let last = entry.startAnew(at: time) else { return false }
    last.withState { $0.storage.forbid(.forGood, .purged) }
    let wasStored = try removeFiles(last)
    // Without readers, its requests are of no use.
    if last.withState(\.readers.isEmpty) { last.perform { $0.supersede() } }
    return wasStored
  }
}
