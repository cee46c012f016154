// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// From the end of a removal on, no request is answered with a response that the origin gave before
/// its beginning, unless the origin has confirmed it since. Requests that are being answered end
/// with the version with which they began.
extension StoredEntries {
  /// Removes every entry that no other process is writing, and returns the freed bytes. Throws as
  /// `visit`; `MediaCacheError` if an entry cannot be removed.
  func removeAll(at time: Date, progress: Progress?) async throws -> Int64 {
    let names = try await visit { $0 }
    let removed = try await remove(names.map { ($0, nil) }, at: time, progress)
    for failure in removed.failures where failure.code == .inUse {
      events.send(.warning(failure.description))
    }
    if let failure = removed.failures.first(where: { $0.code != .inUse }) { throw failure }
    return removed.freedBytes
  }

  /// - Parameter time: the beginning of the removal.
  /// - Throws: `CancellationError`, with some of the entries removed.
  func remove(
    _ entries: [(name: String, key: CacheKey?)], at time: Date, _ progress: Progress? = nil
  ) async throws -> RemovedEntries {
    let outcomes = try await inParallel(entries, progress) {
      entry -> Result<RemovedEntry?, MediaCacheError> in
      do {
        return .success(try await remove(entry.name, entry.key, at: time))
      } catch let error as MediaCacheError {
        return .failure(error)
      }
    }
    var removed = RemovedEntries()
    for outcome in outcomes {
      switch outcome {
      case .success(let entry?):
        removed.entries += 1
        removed.freedBytes += entry.bytes
        if let key = entry.key { removed.resources.insert(Selection.resourceKey(of: key) ?? key) }
      case .success(nil): break
      case .failure(let failure): removed.failures.append(failure)
      }
    }
    return removed
  }

  private typealias RemovedEntry = (key: CacheKey?, generation: String?, bytes: Int64)

  /// Removes an entry, in use or not; nil if nothing was stored. Runs on `IOThreads`.
  private func remove(
    _ name: String, _ key: CacheKey?, at time: Date
  ) async throws -> RemovedEntry? {
    var key = key
    var freed: Int64?
    for attempt in 0... {
      try Task.checkCancellation()
      key = key ?? budget.openKey(name)
      if let key, let open = await table.heldEntry(for: key) {
        defer { open.release() }
        if let bytes = try await remove(open, at: time) { freed = (freed ?? 0) + bytes }
        break
      }
      let closed: RemovedEntry?
      do throws(MediaCacheError) {
        closed = try removeClosed(name)
      } catch {
        // It is this process that writes: it has just opened the entry, or is closing it.
        guard error.code == .inUse, budget.openKey(name) != nil, attempt < 100 else { throw error }
        continue
      }
      guard let removed = closed else { break }
      freed = (freed ?? 0) + removed.bytes
      key = key ?? removed.key
      // A request may have opened the entry, and read its record, just before that.
      guard let key, let generation = removed.generation,
        await table.settledEntry(for: key)?.current?.withState(\.generationID) == generation
      else { break }
    }
    return freed.map { (key, nil, $0) }
  }

  private func remove(_ entry: Entry, at time: Date) async throws -> Int64? {
    do {
      let size = try budget.measure(entry.name)?.allocatedBytes ?? 0
      let isKnown = entry.current?.withState { $0.known != nil } ?? false
      let hadFiles = try await entry.storage.remove(entry, at: time)
      // Its first response may be about to come.
      guard isKnown || (hadFiles && size > 0) else { return nil }
      events.send(.evicted(entry.key, bytes: size))
      return size
    } catch let error as DiskError {
      throw Self.failure(error, entry.key.rawValue)
    }
  }

  /// Removes an entry that is not open here; nil if nothing was stored. Blocks.
  private func removeClosed(_ name: String) throws(MediaCacheError) -> RemovedEntry? {
    let directory = budget.entryDirectory(named: name)
    // The files named in an error may be gone by then.
    var text = directory.path
    do throws(DiskError) {
      guard try directory.disk.status(of: directory.path) != nil else { return nil }
      // Where the file system cannot lock, the lock does not keep this process's own writer out.
      if let lock = try WriterLock.acquire(directory), budget.openKey(name) == nil {
        defer { withExtendedLifetime(lock) {} }
        guard let size = try directory.files()?.allocatedBytes else { return nil }
        let record = directory.writtenRecord
        text = record?.key ?? text
        try budget.changing(name, before: size) { () throws(DiskError) in
          try directory.removeFiles()
        }
        let key = record.map { CacheKey(rawValue: $0.key) }
        if let key { events.send(.evicted(key, bytes: size)) }
        return (key, record?.generation, size)
      }
    } catch {
      throw Self.failure(error, text)
    }
    throw MediaCacheError(
      .inUse, "Another process is writing \(directory.writtenRecord?.key ?? text).",
      remedy: "Stop it, then try again.")
  }

  private static func failure(_ error: DiskError, _ text: String) -> MediaCacheError {
    MediaCacheError(
      .storage, "\(text) could not be removed: \(error).",
      remedy: "Check the disk and the permissions of the cache directory.")
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
  package var keys: Set<CacheKey> = []
  /// The key of the first resource of a group, for the parts of the group.
  var group: CacheKey?
  /// The beginnings of URLs, at least with the slash after the host.
  package private(set) var prefixes: Set<String> = []
  package var isEverything = false

  package init() {}

  package var isEmpty: Bool { keys.isEmpty && !needsSearch }

  /// Adds all resources whose URLs begin with this one, without its fragment. A URL without a path
  /// stands for its whole host.
  package mutating func insert(prefix url: URL) {
    // Keys are normalized, and URLs are stored as they were requested.
    let requested = String(url.withoutUserInfo.absoluteString.prefix { $0 != "#" })
    for text in [CacheKey(url: url).rawValue, requested] {
      guard let host = text.firstRange(of: "://")?.upperBound else { continue }
      let isWhole = text[host...].contains { $0 == "/" || $0 == "?" }
      // Otherwise the hosts whose names begin with this one would be meant, too.
      prefixes.insert(isWhole ? text : text + "/")
    }
  }

  /// Whether every record has to be read.
  var needsSearch: Bool { isEverything || !prefixes.isEmpty || group != nil }

  /// The key may be that of one representation; the URL is the one that was requested.
  func contains(_ key: CacheKey, url: String, group: String?) -> Bool {
    if isEverything || keys.contains(key) { return true }
    if let group, group == self.group?.rawValue { return true }
    if let resource = Selection.resourceKey(of: key), keys.contains(resource) { return true }
    return prefixes.contains { prefix in
      key.rawValue.utf8.starts(with: prefix.utf8) || url.utf8.starts(with: prefix.utf8)
    }
  }
}

/// Purging: the origin's resources have changed, and the stored responses must not be used as if
/// they had not.
extension MediaCache {
  package func purge(
    _ selection: PurgeSelection, progress: (@Sendable (EntryProgress) -> Void)? = nil
  ) async throws -> RemovedEntries {
    let (stored, time) = (stored, now.wall)
    var keys = selection.keys
    // First: what requests from before this moment bring is not to be used.
    let candidates = try await table.settledEntries { key in
      // Others may be busy for long.
      selection.needsSearch || selection.contains(key, url: "", group: nil)
    }
    for entry in candidates
    where selection.contains(
      entry.key, url: entry.resource.url.withoutUserInfo.absoluteString, group: entry.group)
    {
      keys.insert(entry.key)
    }
    if selection.needsSearch {
      let found = try await stored.visit { [budget, table] name -> CacheKey? in
        // Nothing of an unreadable entry is used.
        guard let record = budget.entryDirectory(named: name).writtenRecord else { return nil }
        let key = CacheKey(rawValue: record.key)
        let group = table.openEntry(for: key)?.group ?? record.group
        return selection.contains(key, url: record.url, group: group) ? key : nil
      }
      keys.formUnion(found)
    } else {
      keys.formUnion(try await stored.representations(of: selection.keys))
    }
    return try await stored.remove(
      keys.map { (KeyHash.name(of: $0), $0) }, at: time, progress)
  }
}
