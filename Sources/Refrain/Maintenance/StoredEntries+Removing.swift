// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// Removes entries, in use or not.
///
/// From the end of a removal on, no request is answered with a response that the origin gave before
/// its beginning, unless the origin has confirmed it since. Requests that are being answered end
/// with the version with which they began.
extension StoredEntries {
  // MARK: By keys

  /// Removes entries.
  ///
  /// - Parameter time: the beginning of the removal.
  /// - Throws: `CancellationError`, with some of the entries removed.
  func remove(
    _ keys: Set<CacheKey>, at time: Date, progress: Progress? = nil
  ) async throws -> RemovedEntries {
    let noteDone = counter(to: keys.count, progress)
    let outcomes = try await inParallel(Array(keys)) { key in
      defer { noteDone() }
      do {
        return (key: key, freed: try await remove(key, at: time), failure: MediaCacheError?.none)
      } catch let error as MediaCacheError {
        return (key, nil, error)
      }
    }
    var removed = RemovedEntries(failures: outcomes.compactMap(\.failure))
    for case (let key, let freed?, _) in outcomes {
      removed.entries += 1
      removed.freedBytes += freed
      removed.resources.insert(Selection.resourceKey(of: key) ?? key)
    }
    return removed
  }

  /// Removes an entry.
  ///
  /// - Returns: the bytes of disk that were freed; nil if nothing was stored.
  func remove(_ key: CacheKey, at time: Date) async throws -> Int64? {
    var freed: Int64?
    while true {
      try Task.checkCancellation()
      if let open = await table.heldEntry(for: key) {
        defer { open.release() }
        return try await remove(open, at: time).map { $0 + (freed ?? 0) } ?? freed
      }
      let removed = try await IOThreads.background.run {
        try removeClosed(KeyHash.name(of: key))
      }
      freed = removed.map { $0.bytes + (freed ?? 0) } ?? freed
      // A request may have opened the entry, and read its record, just before that.
      guard let generation = removed?.generation,
        await table.settledEntry(for: key)?.current?.withState(\.generationID) == generation
      else { return freed }
    }
  }

  private func remove(_ entry: Entry, at time: Date) async throws -> Int64? {
    do {
      return try await withTaskExecutorPreference(IOThreads.background) {
        let size = try budget.measure(entry.name)?.allocatedBytes ?? 0
        let isKnown = entry.current?.withState { $0.known != nil } ?? false
        let hadFiles = try await entry.storage.remove(entry, at: time)
        // Its first response may be about to come.
        guard isKnown || (hadFiles && size > 0) else { return nil }
        noteRemoval(entry.name, entry.key, size)
        return size
      }
    } catch let error as DiskError {
      throw Self.failure(error, entry.key.rawValue)
    }
  }

  private func noteRemoval(_ name: String, _ key: CacheKey?, _ size: Int64) {
    budget.index.withLock { $0.forget(name) }
    if let key { events.send(.evicted(key, bytes: size)) }
  }

  // MARK: Everything

  /// Removes every entry that no other process is writing: first those that are not open, several
  /// at once.
  ///
  /// - Returns: the bytes of disk that were freed.
  /// - Throws: as `visit`; `MediaCacheError` if an entry cannot be removed.
  func removeAll(at time: Date, progress: Progress?) async throws -> Int64 {
    let swept = try await visit(progress: progress) { name -> (freed: Int64, left: String?) in
      if budget.isOpen(name) { return (0, name) }
      // If it cannot be removed, the next attempt reports why.
      guard let removed = try? removeClosed(name, isSweep: true) else { return (0, name) }
      // A request may have opened the entry, and read its record, just before that.
      return (removed.bytes, budget.isOpen(name) ? name : nil)
    }
    try await reportingStorage {
      try await IOThreads.background.run { () throws(DiskError) in
        // No entry has the name of a shard: only the shard itself is settled.
        for shard in try budget.shards() {
          budget.changing(shard) {
            budget.disk.removeIfEmpty(budget.entryDirectory(named: shard).shardPath)
          }
        }
      }
    }
    var freed = swept.reduce(0) { $0 + $1.freed }
    var failure: (any Error)?
    for name in swept.compactMap(\.left) {
      do {
        freed += try await removeLeft(name, at: time)
      } catch let error as MediaCacheError where error.code == .inUse {
        events.send(.warning(error.description))
      } catch let error as MediaCacheError {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return freed
  }

  /// Removes an entry that is in use, or could not be removed before.
  private func removeLeft(_ name: String, at time: Date) async throws -> Int64 {
    let directory = budget.entryDirectory(named: name)
    let recorded = await IOThreads.background.run {
      directory.writtenRecord.map { CacheKey(rawValue: $0.key) }
    }
    // The record of what is open may not be written yet.
    let key = table.openEntries.first { $0.name == name }?.key ?? recorded
    if let key, KeyHash.name(of: key) == name { return try await remove(key, at: time) ?? 0 }
    return try await IOThreads.background.run { try removeClosed(name)?.bytes ?? 0 }
  }

  // MARK: Closed entries

  /// Removes an entry that is not open here. Blocks.
  ///
  /// - Parameter isSweep: whether all entries of the shard are being removed, and the shard
  ///   afterwards.
  /// - Returns: the generation that was stored, if its record is readable, and the bytes that were
  ///   freed; nil if nothing was stored.
  private func removeClosed(
    _ name: String, isSweep: Bool = false
  ) throws(MediaCacheError) -> (generation: String?, bytes: Int64)? {
    let directory = budget.entryDirectory(named: name)
    // The files named in an error may be gone by then.
    var text = directory.path
    do throws(DiskError) {
      guard try directory.disk.status(of: directory.path) != nil else { return nil }
      if let lock = try WriterLock.acquire(directory, waits: !isSweep) {
        defer { withExtendedLifetime(lock) {} }
        guard let files = try directory.files() else { return nil }
        let record = directory.writtenRecord
        text = record?.key ?? text
        try budget.changing(name, before: files.allocatedBytes) { () throws(DiskError) in
          try directory.removeFiles(files, keepsShard: isSweep)
        }
        noteRemoval(name, record.map { CacheKey(rawValue: $0.key) }, files.allocatedBytes)
        return (record?.generation, files.allocatedBytes)
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

/// The outcome of removing several entries.
package struct RemovedEntries: Sendable {
  /// The number of entries.
  package var entries = 0
  /// The disk space freed, in bytes.
  package var freedBytes: Int64 = 0
  /// The keys of the resources of these entries.
  package var resources: Set<CacheKey> = []
  /// The reasons why some entries could not be removed.
  package var failures: [MediaCacheError] = []
}

/// The entries that a purge concerns. A pure value.
package struct PurgeSelection: Sendable, Hashable {
  /// The keys of resources, with all their representations.
  package var keys: Set<CacheKey> = []
  /// The beginnings of URLs, at least with the slash after the host.
  package private(set) var prefixes: Set<String> = []
  package var isEverything = false

  package init() {}

  package var isEmpty: Bool { keys.isEmpty && prefixes.isEmpty && !isEverything }

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

  /// Whether the stored entries have to be searched.
  var needsSearch: Bool { isEverything || !prefixes.isEmpty }

  /// Whether an entry is concerned.
  ///
  /// - Parameters:
  ///   - key: the key of the entry, perhaps that of one representation.
  ///   - url: the URL that was requested.
  func contains(_ key: CacheKey, url: String) -> Bool {
    if isEverything || keys.contains(key) { return true }
    if let resource = Selection.resourceKey(of: key), keys.contains(resource) { return true }
    return prefixes.contains { prefix in
      key.rawValue.utf8.starts(with: prefix.utf8) || url.utf8.starts(with: prefix.utf8)
    }
  }
}

/// Purging: the origin's resources have changed, and the stored responses must not be used as if
/// they had not.
extension MediaCache {
  /// Removes entries.
  ///
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read; `CancellationError`,
  ///   with some of the entries purged.
  package func purge(_ selection: PurgeSelection) async throws -> RemovedEntries {
    let (stored, time) = (stored, now.wall)
    var keys = selection.keys
    // First: what requests from before this moment bring is not to be used.
    for entry in await table.settledEntries()
    where selection.contains(entry.key, url: entry.resource.url.withoutUserInfo.absoluteString) {
      keys.insert(entry.key)
    }
    if selection.needsSearch {
      keys.formUnion(
        try await stored.keys { record in
          selection.contains(CacheKey(rawValue: record.key), url: record.url)
        })
    } else {
      keys.formUnion(try await stored.representations(of: selection.keys))
    }
    return try await stored.remove(keys, at: time)
  }
}
