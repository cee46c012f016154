// SPDX-License-Identifier: MIT

/// Removes the entries of a group, after one look at all records.
extension Removal {
  /// - Parameter group: the key of the group's first resource.
  /// - Returns: nil if nothing was removed.
  func removeGroup(
    _ group: CacheKey, _ progress: Sweep.Progress?
  ) async throws -> MediaCache.RemovedGroup? {
    for entry in await table.settledEntries() { await entry.recordNow() }
    let keys = try await reportingStorage { try await members(of: group) }
    guard !keys.isEmpty else { return nil }
    let outcome = try await remove(keys) { progress?($0, keys.count) }
    if let failure = outcome.failures.first { throw failure }
    guard outcome.entries > 0 else { return nil }
    return MediaCache.RemovedGroup(
      freedBytes: outcome.freedBytes, parts: outcome.entries - (keys.contains(group) ? 1 : 0))
  }

  /// A recorded entry.
  private struct Recorded: Sendable {
    var key: CacheKey
    var group: CacheKey?
  }

  /// Returns the keys of a group's entries.
  private func members(of group: CacheKey) async throws -> Set<CacheKey> {
    var recorded = try await Sweep(budget: budget).run { names, _ in
      names.compactMap { name -> Recorded? in
        guard let record = budget.entryDirectory(named: name).recordAsWritten() else { return nil }
        let key = CacheKey(rawValue: record.key)
        let isOwn = key == group || Selection.isRepresentation(key, of: group)
        guard record.group != nil || isOwn else { return nil }
        return Recorded(key: key, group: record.group.map { CacheKey(rawValue: $0) })
      }
    }
    .flatMap(\.self)
    // An open entry may have become a part since its record was written.
    recorded += table.openEntries.compactMap { entry in
      entry.group.map {
        Recorded(key: entry.key, group: CacheKey(rawValue: $0))
      }
    }
    let roots = GroupRoots(recorded) {
      $0.key
    } group: {
      $0.group
    }
    let isFirst = roots.root(of: group, group: recorded.first { $0.key == group }?.group)
    guard isFirst == nil || isFirst == group else { return [] }
    return Set(
      recorded.filter { entry in
        entry.key == group || Selection.isRepresentation(entry.key, of: group)
          || roots.root(of: entry.key, group: entry.group) == group
      }.map(\.key))
  }
}

extension EntryDirectory {
  /// Returns the record without the spans of journals; nil if none is readable. Blocks.
  fileprivate func recordAsWritten() -> EntryRecord? {
    guard let bytes = try? disk.contents(of: recordPath) else { return nil }
    return try? EntryRecord.decode(bytes).0
  }
}
