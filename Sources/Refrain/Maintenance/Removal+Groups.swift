// SPDX-License-Identifier: MIT
import RefrainLocks

/// Removes the entries of a group: one look at all records, then a shard at a time, several shards
/// at once.
extension Removal {
  /// - Parameter group: the key of the group's first resource.
  /// - Returns: nil if nothing was removed.
  func removeGroup(
    _ group: CacheKey, _ progress: Sweep.Progress?
  ) async throws -> MediaCache.RemovedGroup? {
    for entry in await context.table.settledEntries() { await entry.recordNow() }
    let keys = try await reporting { try await members(of: group) }
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
    let hasFirst = keys.values.contains(group)
    return MediaCache.RemovedGroup(
      freedBytes: freed, parts: hasFirst ? count - 1 : count)
  }

  /// A recorded entry.
  private struct Recorded: Sendable {
    var name: String
    var key: CacheKey
    var group: CacheKey?
  }

  /// Returns the keys of a group's entries by their names.
  private func members(of group: CacheKey) async throws -> [String: CacheKey] {
    let budget = context.budget
    var recorded = try await Sweep(budget: budget).run { names, _ in
      names.compactMap { name -> Recorded? in
        guard let record = budget.entryDirectory(named: name).recordAsWritten() else { return nil }
        let key = CacheKey(rawValue: record.key)
        let isOwn = key == group || Selection.isRepresentation(key, of: group)
        guard record.group != nil || isOwn else { return nil }
        return Recorded(
          name: name, key: key, group: record.group.map { CacheKey(rawValue: $0) })
      }
    }
    .flatMap(\.self)
    // An open entry may have become a part since its record was written.
    recorded += context.table.openEntries.compactMap { entry in
      entry.group.map {
        Recorded(name: entry.name, key: entry.key, group: CacheKey(rawValue: $0))
      }
    }
    let roots = GroupRoots(recorded) {
      $0.key
    } group: {
      $0.group
    }
    let isFirst = roots.root(of: group, group: recorded.first { $0.key == group }?.group)
    guard isFirst == nil || isFirst == group else { return [:] }
    var keys: [String: CacheKey] = [:]
    for entry in recorded {
      let isOwn = entry.key == group || Selection.isRepresentation(entry.key, of: group)
      if isOwn || roots.root(of: entry.key, group: entry.group) == group {
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
