// SPDX-License-Identifier: MIT
import Synchronization

/// Takes entries out of a cache directory.
struct Removal: Sendable {
  let context: CacheContext

  /// Removes an entry, and those of other representations of its resource.
  ///
  /// - Returns: the bytes of disk that were freed; nil where there was nothing.
  func removeAllRepresentations(_ key: CacheKey) async throws -> Int64? {
    let context = context
    let others: [CacheKey]
    do {
      others = try await IOThreads.background.run { () throws(DiskError) in
        try Inspector(context: context).representations(of: key)
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

  /// - Returns: the bytes of disk that were freed; nil where there was nothing.
  func remove(_ name: String, _ key: CacheKey?) async throws -> Int64? {
    let context = context
    let open: Entry? = if let key { await context.table.settledEntry(for: key) } else { nil }
    let directory = context.store.entryDirectory(named: name)
    let work = Task(executorPreference: IOThreads.background) { () throws -> Int64? in
      let size: Int64
      context.store.prepareToFree()
      do {
        if let open {
          size = try context.store.measure(name)?.allocatedBytes ?? 0
          guard try await open.storage.removeFiles(open.current) else { return nil }
        } else {
          guard let freed = try Self.remove(directory, key, in: context.store) else { return nil }
          size = freed
        }
      } catch let error as DiskError {
        throw MediaCacheError(
          .storage, "\(key?.rawValue ?? directory.resourceName) could not be removed: \(error).",
          remedy: "Check the permissions of the cache directory.")
      }
      context.store.index.withLock { $0.forget(name) }
      context.store.report()
      if let key { context.events.send(.evicted(key, bytes: size)) }
      return size
    }
    return try await work.value
  }

  /// - Returns: the bytes that were freed; nil where nothing is there.
  private static func remove(
    _ directory: EntryDirectory, _ key: CacheKey?, in store: Store
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
    let mark = store.freeMark(directory.name)
    let freed = try Store.allocated(own, disk) + directory.allocatedBytes().all
    let shardBefore = try Store.allocated(shard, disk)
    try directory.removeFiles()
    store.noteFreed(freed + shardBefore - (try Store.allocated(shard, disk)), since: mark)
    return freed
  }
}
