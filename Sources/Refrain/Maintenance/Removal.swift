// SPDX-License-Identifier: MIT
import Synchronization

/// Removes entries from a cache directory.
struct Removal: Sendable {
  let context: CacheContext

  /// Removes an entry and the other representations of its resource.
  ///
  /// - Returns: the bytes of disk that were freed; nil if nothing was stored.
  func removeAllRepresentations(_ key: CacheKey) async throws -> Int64? {
    let context = context
    let others: [CacheKey]
    do {
      others = try await IOThreads.background.run { () throws(DiskError) in
        try CacheInspector(context: context).representations(of: key)
      }
    } catch {
      throw MediaCacheError(
        .storage, "The entries of the cache could not be listed: \(error).",
        remedy: "Check the disk and the permissions of the cache directory.")
    }
    var freed = try await remove(KeyHash.name(of: key), key)
    for other in others {
      guard let more = try await remove(KeyHash.name(of: other), other) else { continue }
      freed = (freed ?? 0) + more
    }
    return freed
  }

  /// Removes one entry.
  ///
  /// - Returns: the bytes of disk that were freed; nil if nothing was stored.
  func remove(_ name: String, _ key: CacheKey?) async throws -> Int64? {
    let context = context
    let open: Entry? = if let key { await context.table.settledEntry(for: key) } else { nil }
    let directory = context.budget.entryDirectory(named: name)
    let work = Task(executorPreference: IOThreads.background) { () throws -> Int64? in
      let size: Int64
      context.budget.prepareToFree()
      do {
        if let open {
          size = try context.budget.measure(name)?.allocatedBytes ?? 0
          guard try await open.storage.removeFiles(open.current) else { return nil }
        } else {
          guard let freed = try Self.remove(directory, key, in: context.budget) else { return nil }
          size = freed
        }
      } catch let error as DiskError {
        throw MediaCacheError(
          .storage, "\(key?.rawValue ?? directory.resourceName) could not be removed: \(error).",
          remedy: "Check the permissions of the cache directory.")
      }
      context.budget.index.withLock { $0.forget(name) }
      context.budget.report()
      if let key { context.events.send(.evicted(key, bytes: size)) }
      return size
    }
    return try await work.value
  }

  /// Removes an entry that is not open here.
  ///
  /// - Returns: the bytes that were freed; nil if nothing was stored.
  private static func remove(
    _ directory: EntryDirectory, _ key: CacheKey?, in budget: DiskBudget
  ) throws -> Int64? {
    let disk = directory.disk
    guard try disk.status(of: directory.path) != nil else { return nil }
    guard let lock = try WriterLock.acquire(directory) else {
      throw MediaCacheError(
        .inUse, "Another process is writing \(key?.rawValue ?? directory.resourceName).",
        remedy: "Stop it, then try again.")
    }
    defer { withExtendedLifetime(lock) {} }
    let (own, shard) = ([directory.path], [directory.shardPath])
    let mark = budget.freeMark(directory.name)
    let freed = try DiskBudget.allocated(own, disk) + directory.allocatedBytes().all
    let shardBefore = try DiskBudget.allocated(shard, disk)
    try directory.removeFiles()
    budget.noteFreed(freed + shardBefore - (try DiskBudget.allocated(shard, disk)), since: mark)
    return freed
  }
}
