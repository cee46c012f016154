// SPDX-License-Identifier: MIT
import RefrainLocks

/// Removes the entries of a stream: one look at all records, then a shard at a time, several shards
/// at once.
extension Removal {
  /// - Parameter stream: the key of the stream's first manifest.
  /// - Returns: nil if nothing was removed.
  func removeStream(
    _ stream: CacheKey, _ progress: Sweep.Progress?
  ) async throws -> MediaCache.RemovedStream? {
    for entry in await context.table.settledEntries() { await entry.recordNow() }
    let keys = try await reporting { try await members(of: stream) }
    guard !keys.isEmpty else { return nil }
    let budget = context.budget
    await IOThreads.background.run { budget.prepareToFree() }
    let done = Atomic(0)
    let shards = try await reporting {
      try await Sweep(budget: budget).run { names, _ in
        let names = names.filter { keys[$0] != nil }
        let part = removeClosed(names) {
          progress?(done.add(1, ordering: .relaxed).newValue, keys.count)
        }
        return (part, names.count)
      }
    }
    var freed: Int64 = 0
    var count = 0
    var failure: MediaCacheError?
    for (part, entries) in shards {
      freed += part.freed
      count += entries
      failure = failure ?? part.failure
      for name in part.busy {
        do {
          if let bytes = try await remove(name, keys[name]) {
            freed += bytes
          } else {
            count -= 1
          }
        } catch let error as MediaCacheError {
          failure = failure ?? error
        }
      }
    }
    if let failure { throw failure }
    guard count > 0 else { return nil }
    let hasManifest = keys.values.contains(stream)
    return MediaCache.RemovedStream(
      freedBytes: freed, parts: hasManifest ? count - 1 : count)
  }

  /// A recorded entry.
  private struct Recorded: Sendable {
    var name: String
    var key: CacheKey
    var stream: CacheKey?
  }

  /// Returns the keys of a stream's entries by their names.
  private func members(of stream: CacheKey) async throws -> [String: CacheKey] {
    let budget = context.budget
    var recorded = try await Sweep(budget: budget).run { names, _ in
      names.compactMap { name -> Recorded? in
        guard let record = budget.entryDirectory(named: name).recordAsWritten() else { return nil }
        let key = CacheKey(rawValue: record.key)
        let isOwn = key == stream || Selection.isRepresentation(key, of: stream)
        guard record.stream != nil || isOwn else { return nil }
        return Recorded(
          name: name, key: key, stream: record.stream.map { CacheKey(rawValue: $0) })
      }
    }
    .flatMap(\.self)
    // An open entry may have become a part since its record was written.
    recorded += context.table.openEntries.compactMap { entry in
      entry.stream.map {
        Recorded(name: entry.name, key: entry.key, stream: CacheKey(rawValue: $0))
      }
    }
    let roots = StreamRoots(recorded) {
      $0.key
    } stream: {
      $0.stream
    }
    let isFirst = roots.root(of: stream, stream: recorded.first { $0.key == stream }?.stream)
    guard isFirst == nil || isFirst == stream else { return [:] }
    var keys: [String: CacheKey] = [:]
    for entry in recorded {
      let isOwn = entry.key == stream || Selection.isRepresentation(entry.key, of: stream)
      if isOwn || roots.root(of: entry.key, stream: entry.stream) == stream {
        keys[entry.name] = entry.key
      }
    }
    return keys
  }

  private func reporting<Value: Sendable>(
    _ work: () async throws -> Value
  ) async throws -> Value {
    do {
      return try await work()
    } catch let error as DiskError {
      throw MediaCacheError(
        .storage, "The cache directory cannot be listed: \(error).",
        remedy: "Check the disk and its permissions, then try again.")
    }
  }
}

extension EntryDirectory {
  /// Returns the record without the spans of journals; nil if none is readable. Blocks.
  fileprivate func recordAsWritten() -> EntryRecord? {
    guard let bytes = try? disk.contents(of: recordPath) else { return nil }
    return try? Self.decode(bytes).0
  }
}
