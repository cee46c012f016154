// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// From the end of a removal on, no request is answered with a response that the origin gave before
/// its beginning, unless the origin has confirmed it since. Requests that are being answered end
/// with the version with which they began.
extension StoredEntries {
  /// Removes every entry that no other process is writing, and returns the freed bytes.
  func removeAll(at time: Date, progress: Progress?) async throws -> Int64 {
    var everything = PurgeSelection()
    everything.isEverything = true
    let removed = try await remove(everything, at: time, progress)
    for failure in removed.failures where failure.code == .inUse {
      events.send(.warning(failure.description))
    }
    if let failure = removed.failures.first(where: { $0.code != .inUse }) { throw failure }
    return removed.freedBytes
  }

  func remove(
    _ selection: PurgeSelection, at time: Date, _ progress: Progress?
  ) async throws -> RemovedEntries {
    // First: what requests from before this moment bring is not to be used.
    let open = try await table.settledEntries { key in
      // Others may be busy for long.
      selection.needsSearch || selection.contains(key, url: "", group: nil)
    }
    let meant = open.filter { entry in
      let url = entry.resource.url.withoutUserInfo.absoluteString
      return selection.contains(entry.key, url: url, group: entry.group)
    }
    let known = Set(selection.keys.map { KeyHash.name(of: $0) } + meant.map(\.name))
    let found = try await visit(of: selection.needsSearch ? nil : selection.keys) { name in
      if selection.isEverything || known.contains(name) { return name }
      // Nothing of an unreadable entry is used.
      guard let record = budget.entryDirectory(named: name).writtenRecord else { return nil }
      let key = CacheKey(rawValue: record.key)
      let group = table.openEntry(for: key)?.group ?? record.group
      return selection.contains(key, url: record.url, group: group) ? name : nil
    }
    return try await remove(known.union(found), at: time, progress)
  }

  /// Throws `CancellationError`, with some of the entries removed.
  func remove(
    _ names: Set<String>, at time: Date, _ progress: Progress? = nil
  ) async throws -> RemovedEntries {
    let removed = Mutex(RemovedEntries())
    _ = try await inParallel(Array(names), progress) { name in
      do {
        guard let (key, bytes) = try await remove(name, at: time) else { return }
        if let key { events.send(.evicted(key, bytes: bytes)) }
        removed.withLock { removed in
          removed.entries += 1
          removed.freedBytes += bytes
          if let key { removed.resources.insert(Selection.resourceKey(of: key) ?? key) }
        }
      } catch let error as MediaCacheError {
        removed.withLock { $0.failures.append(error) }
      } catch let error as DiskError {
        let text = budget.openKey(name)?.rawValue ?? budget.entryDirectory(named: name).path
        let failure = MediaCacheError(
          .storage, "\(text) could not be removed: \(error).",
          remedy: "Check the disk and the permissions of the cache directory.")
        removed.withLock { $0.failures.append(failure) }
      }
    }
    return removed.withLock(\.self)
  }

  /// Returns the freed bytes, and the key if it is known; nil if nothing was stored.
  private func remove(
    _ name: String, at time: Date
  ) async throws -> (key: CacheKey?, bytes: Int64)? {
    let directory = budget.entryDirectory(named: name)
    for _ in 0..<100 {
      try Task.checkCancellation()
      if let key = budget.openKey(name), let entry = await table.heldEntry(for: key) {
        defer { entry.release() }
        let size = try budget.measure(name)?.allocatedBytes ?? 0
        let isKnown = entry.current?.withState { $0.known != nil } ?? false
        let hadFiles = try await entry.storage.remove(entry, at: time)
        // Otherwise its first response may be about to come.
        return isKnown || hadFiles && size > 0 ? (key, size) : nil
      }
      guard let size = try directory.files()?.allocatedBytes else { return nil }
      let lock = try WriterLock.acquire(directory)
      defer { withExtendedLifetime(lock) {} }
      // It was just opened here, or is closing. A file system may lack locks that would say so.
      if budget.openKey(name) != nil { continue }
      if lock == nil { break }
      let record = directory.writtenRecord
      try budget.changing(name) { _ in try directory.removeFiles() }
      return (record.map { CacheKey(rawValue: $0.key) }, size)
    }
    throw MediaCacheError(
      .inUse, "Another process is writing \(directory.writtenRecord?.key ?? directory.path).",
      remedy: "Stop it, then try again.")
  }
}

package struct RemovedEntries: Sendable {
  package var entries = 0
  package var freedBytes: Int64 = 0
  /// The keys of the resources of these entries.
  package var resources: Set<CacheKey> = []
  package var failures: [MediaCacheError] = []
}

/// The entries that a removal concerns. A pure value.
package struct PurgeSelection: Sendable, Hashable {
  /// The keys of resources, with all their representations.
  package var keys: Set<CacheKey>
  /// The key of the first resource of a group, for the parts of the group.
  var group: CacheKey?
  /// The beginnings of normalized URLs, at least with the slash after the host.
  package private(set) var prefixes: Set<String> = []
  package var isEverything = false

  package init(keys: Set<CacheKey> = [], group: CacheKey? = nil) {
    (self.keys, self.group) = (keys, group)
  }

  package var isEmpty: Bool { keys.isEmpty && !needsSearch }

  /// Adds all resources whose URLs begin with this one, without its fragment. A URL without a path
  /// stands for its whole host.
  package mutating func insert(prefix url: URL) { prefixes.insert(CacheKey(url: url).rawValue) }

  /// Whether every record has to be read.
  var needsSearch: Bool { isEverything || !prefixes.isEmpty || group != nil }

  /// The key may be that of one representation; the URL is the one that was requested.
  func contains(_ key: CacheKey, url: String, group: String?) -> Bool {
    if isEverything || keys.contains(key) || Selection.isRepresentation(key, ofAny: keys) {
      return true
    }
    if let group, group == self.group?.rawValue { return true }
    guard !prefixes.isEmpty else { return false }
    let texts = [key, URL(string: url).map { CacheKey(url: $0) }].compactMap { $0?.rawValue.utf8 }
    return prefixes.contains { prefix in texts.contains { $0.starts(with: prefix.utf8) } }
  }
}

extension MediaCache {
  package func purge(
    _ selection: PurgeSelection, progress: (@Sendable (EntryProgress) -> Void)? = nil
  ) async throws -> RemovedEntries {
    try await stored.remove(selection, at: now.wall, progress)
  }
}
