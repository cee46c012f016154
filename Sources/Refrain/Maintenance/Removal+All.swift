// SPDX-License-Identifier: MIT
import RefrainLocks

/// Removes all entries from a cache directory: a shard at a time, several shards at once.
extension Removal {
  func removeAll(progress: Sweep.Progress?) async throws -> Int64 {
    // First: a cancelled removal leaves no credentials behind.
    companions.removeAll()
    var failure = await removePrivateFiles()
    let entries: Result<Int64, any Error>
    do {
      entries = .success(try await removeEntries(progress))
    } catch {
      entries = .failure(error)
    }
    // There may be room for the record of the removal now.
    if failure != nil { failure = await removePrivateFiles() }
    // Credentials that are left matter more than why entries are left.
    if let failure, failure.mayLeaveFiles { throw failure.error }
    let freed = try entries.get()
    if let failure { throw failure.error }
    return freed
  }

  /// - Returns: the bytes of disk that were freed.
  private func removeEntries(_ progress: Sweep.Progress?) async throws -> Int64 {
    let parts = try await reportingStorage {
      try await Sweep(budget: budget).run(progress: progress) { names, done in
        removeClosed(names, done)
      }
    }
    var freed: Int64 = 0
    for part in parts {
      freed += part.freed
      for name in part.busy { freed += try await removeBusy(name) }
      if let failure = part.failure { throw failure }
    }
    return freed
  }

  private struct PrivateFailure: Sendable {
    var error: MediaCacheError
    var mayLeaveFiles: Bool
  }

  /// Removes what proxies have stored for streams, and players for going on.
  ///
  /// - Returns: why it could not be removed, or not recorded; nil on success.
  private func removePrivateFiles() async -> PrivateFailure? {
    return await IOThreads.background.run {
      let files = PrivateFiles(budget)
      do {
        try files.removeAll { clock().uptime }
        return nil
      } catch let unrecorded as PrivateFiles.UnrecordedRemoval {
        let error = MediaCacheError(
          .storage,
          "The headers, cookies, positions and queue in \(files.path) were removed, but the "
            + "removal could not be recorded (\(unrecorded.reason)): a program that runs may store "
            + "its own again.",
          remedy: "Check the disk and the permissions of the cache directory, then try again.")
        return PrivateFailure(error: error, mayLeaveFiles: false)
      } catch {
        let error = MediaCacheError(
          .storage,
          "The headers, cookies, positions and queue in \(files.path) could not be removed: "
            + "\(error).",
          remedy: "Check the disk and the permissions of the cache directory, then try again.")
        return PrivateFailure(error: error, mayLeaveFiles: true)
      }
    }
  }

  /// The outcome for the entries of one shard.
  private struct Part: Sendable {
    var freed: Int64 = 0
    /// Entries that are open for writing and were skipped.
    var busy: [String] = []
    /// Why the shard was not finished.
    var failure: MediaCacheError?
  }

  /// Removes the entries of a shard that are not open for writing. Blocks.
  private func removeClosed(_ names: [String], _ done: () -> Void) -> Part {
    var part = Part()
    guard let first = names.first else { return part }
    let shard = budget.entryDirectory(named: first).shardPath
    do throws(DiskError) {
      let before = try DiskBudget.allocated([shard], budget.disk)
      for name in names {
        defer { done() }
        if let freed = try removeClosed(name) {
          part.freed += freed
        } else {
          part.busy.append(name)
        }
      }
      let mark = budget.mark()
      EntryDirectory.removeIfEmpty(shard, disk: budget.disk)
      budget.free(before - (try DiskBudget.allocated([shard], budget.disk)), since: mark)
    } catch {
      part.failure = MediaCacheError(
        .storage, "The entries in \(shard) could not be removed: \(error).",
        remedy: "Check the permissions of the cache directory.")
    }
    return part
  }

  /// Removes one entry unless it is open for writing.
  ///
  /// - Returns: the bytes that were freed; nil if the entry is open for writing.
  private func removeClosed(_ name: String) throws(DiskError) -> Int64? {
    let directory = budget.entryDirectory(named: name)
    guard !budget.isOpen(name), let lock = try WriterLock.acquire(directory, waits: false) else {
      return nil
    }
    defer { withExtendedLifetime(lock) {} }
    // It may have been opened since.
    guard !budget.isOpen(name) else { return nil }
    let mark = budget.mark()
    guard let (key, freed) = try directory.removeCounting() else { return 0 }
    budget.free(freed, since: mark)
    budget.index.withLock { $0.forget(name) }
    if let key { events.send(.evicted(key, bytes: freed)) }
    return freed
  }

  /// Removes an entry that is open in this process, or leaves it to the process that is writing it.
  private func removeBusy(_ name: String) async throws -> Int64 {
    let directory = budget.entryDirectory(named: name)
    let key = await IOThreads.background.run {
      (try? directory.loadRecord()).map { CacheKey(rawValue: $0.record.key) }
    }
    do {
      guard let key else { return try await removeClosed(name, nil).freed ?? 0 }
      return try await remove(key) ?? 0
    } catch let error as MediaCacheError where error.code == .inUse {
      events.send(.warning(error.description))
      return 0
    }
  }
}
