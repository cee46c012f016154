// SPDX-License-Identifier: MIT

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
      let size: Int64?
      do {
        size = try context.store.measure(name)?.allocatedBytes
        if let open {
          guard try await open.storage.removeFiles(open.current) else { return nil }
        } else {
          guard try Self.remove(directory, key) else { return nil }
        }
      } catch let error as DiskError {
        throw MediaCacheError(
          .storage, "\(key?.rawValue ?? directory.path) could not be removed: \(error).",
          remedy: "Check the permissions of the cache directory.")
      }
      context.store.forget(name)
      if let key { context.events.send(.evicted(key, bytes: size ?? 0)) }
      return size ?? 0
    }
    return try await work.value
  }

  func removeAll() async throws -> Int64 {
    let store = context.store
    let names: [String]
    do {
      names = try await IOThreads.background.run { () throws(DiskError) in try store.names() }
    } catch {
      throw MediaCacheError(
        .storage, "The cache directory cannot be listed: \(error).",
        remedy: "Check the disk and its permissions, then try again.")
    }
    var freed: Int64 = 0
    for name in names {
      let directory = store.entryDirectory(named: name)
      let key = await IOThreads.background.run {
        (try? directory.loadRecord()).map { CacheKey(rawValue: $0.record.key) }
      }
      do {
        freed += try await remove(name, key) ?? 0
      } catch let error as MediaCacheError where error.code == .inUse {
        context.events.send(.warning(error.description))
      }
    }
    return freed
  }

  /// - Returns: false where nothing is there.
  private static func remove(_ directory: EntryDirectory, _ key: CacheKey?) throws -> Bool {
    guard try directory.disk.status(of: directory.path) != nil else { return false }
    guard let lock = try WriterLock.acquire(directory) else {
      throw MediaCacheError(
        .inUse, "Another process is writing \(key?.rawValue ?? directory.path).",
        remedy: "Stop it, then try again.")
    }
    defer { withExtendedLifetime(lock) {} }
    try directory.removeFiles()
    return true
  }
}
