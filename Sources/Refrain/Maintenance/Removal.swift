// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Removes entries from a cache directory, in use or not.
///
/// From the end of a removal on, no request is answered with a response that the origin gave before
/// its beginning, unless the origin has confirmed it since. Requests that are being answered end
/// with the version with which they began.
struct Removal: Sendable {
  let budget: DiskBudget
  let table: EntryTable
  let events: EventStreams
  /// The beginning of the removal.
  let time: Date

  /// The number of entries removed at once, each of which waits for the disk.
  private static let width = 4

  // MARK: By keys

  /// Removes entries.
  ///
  /// - Parameter done: called with the number of finished entries.
  /// - Throws: `CancellationError`, with some of the entries removed.
  func remove(
    _ keys: Set<CacheKey>, done: (Int) -> Void = { _ in }
  ) async throws -> RemovedEntries {
    try await withThrowingTaskGroup(
      of: (key: CacheKey, result: Result<Int64?, any Error>).self
    ) { group in
      var waiting = Array(keys)
      for _ in 0..<min(Self.width, waiting.count) {
        group.addTask { [key = waiting.removeLast()] in try await result(of: key) }
      }
      var removed = RemovedEntries()
      var count = 0
      while let (key, result) = try await group.next() {
        removed.note(result, of: key)
        count += 1
        done(count)
        guard let next = waiting.popLast() else { continue }
        group.addTask { try await self.result(of: next) }
      }
      return removed
    }
  }

  private func result(
    of key: CacheKey
  ) async throws -> (key: CacheKey, result: Result<Int64?, any Error>) {
    do {
      return (key, .success(try await remove(key)))
    } catch let error as CancellationError {
      throw error
    } catch {
      return (key, .failure(error))
    }
  }

  /// An entry that can be neither held nor found closed for so long belongs to a closed cache.
  private static let mostAttempts = 1000

  /// Removes an entry.
  ///
  /// - Returns: the bytes of disk that were freed; nil if nothing was stored.
  func remove(_ key: CacheKey) async throws -> Int64? {
    var freed: Int64?
    for _ in 0..<Self.mostAttempts {
      try Task.checkCancellation()
      if let open = await table.settledEntry(for: key) {
        guard open.tryHold() else {
          await Task.yield()
          continue
        }
        defer { open.release() }
        let more = try await remove(open)
        return more.map { $0 + (freed ?? 0) } ?? freed
      }
      let removed = try await IOThreads.background.run {
        try removeClosed(KeyHash.name(of: key), key.rawValue)
      }
      freed = removed.map { $0.bytes + (freed ?? 0) } ?? freed
      // A request may have opened the entry, and read its record, just before that.
      guard let generation = removed?.generation,
        await table.settledEntry(for: key)?.current?.withState(\.generationID) == generation
      else { return freed }
    }
    throw GenerationState.closed
  }

  private func remove(_ entry: Entry) async throws -> Int64? {
    let work = Task(executorPreference: IOThreads.background) { () async throws -> Int64? in
      let size = try budget.measure(entry.name)?.allocatedBytes ?? 0
      let isKnown = entry.current?.withState { $0.known != nil } ?? false
      let hadFiles = try await entry.storage.remove(entry, at: time)
      // Its first response may be about to come.
      guard isKnown || (hadFiles && size > 0) else { return nil }
      noteRemoval(entry.name, entry.key, size)
      return size
    }
    do {
      return try await work.value
    } catch let error as DiskError {
      throw Self.failure(error, entry.key.rawValue)
    }
  }

  private func noteRemoval(_ name: String, _ key: CacheKey?, _ size: Int64) {
    budget.index.withLock { $0.forget(name) }
    if let key { events.send(.evicted(key, bytes: size)) }
  }

  // MARK: Everything

  /// Removes every entry that no other process is writing: a shard at a time, several shards at
  /// once.
  ///
  /// - Returns: the bytes of disk that were freed.
  /// - Throws: `DiskError` if the directory cannot be read; `MediaCacheError`; `CancellationError`.
  func removeAll(progress: Sweep.Progress?) async throws -> Int64 {
    let shards = try await Sweep(budget: budget).run(progress: progress) { removeShard($0, $1) }
    var freed = shards.reduce(0) { $0 + $1.freed }
    var failure: (any Error)?
    for name in shards.flatMap(\.left) {
      do {
        freed += try await removeLeft(name)
      } catch let error as MediaCacheError where error.code == .inUse {
        events.send(.warning(error.description))
      } catch let error as MediaCacheError {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return freed
  }

  /// Removes the entries of a shard that are not open. Blocks.
  ///
  /// - Returns: the bytes that were freed, and the names of the entries that could not be removed.
  private func removeShard(
    _ names: [String], _ done: () -> Void
  ) -> (freed: Int64, left: [String]) {
    var freed: Int64 = 0
    var left: [String] = []
    for name in names {
      defer { done() }
      do {
        freed += try removeClosed(name, name, isSweep: true)?.bytes ?? 0
      } catch {
        // The next attempt reports why.
        left.append(name)
      }
    }
    if let first = names.first {
      // No entry has the name of a shard: only the shard itself is settled.
      budget.changing(KeyHash.shard(of: first)) {
        budget.entryDirectory(named: first).removeShardIfEmpty()
      }
    }
    return (freed, left)
  }

  /// Removes an entry that is in use, or could not be removed before.
  private func removeLeft(_ name: String) async throws -> Int64 {
    // The record of what is open may not be written yet.
    if let open = table.openEntries.first(where: { $0.name == name }) {
      return try await remove(open.key) ?? 0
    }
    let directory = budget.entryDirectory(named: name)
    let key = await IOThreads.background.run {
      directory.writtenRecord.map { CacheKey(rawValue: $0.key) }
    }
    if let key, KeyHash.name(of: key) == name { return try await remove(key) ?? 0 }
    return try await IOThreads.background.run {
      try removeClosed(name, key?.rawValue ?? directory.path)?.bytes ?? 0
    }
  }

  // MARK: Closed entries

  /// Removes an entry that is not open here. Blocks.
  ///
  /// - Parameters:
  ///   - text: names the entry in errors.
  ///   - isSweep: whether all entries of the shard are being removed: those that are open here are
  ///     left, and so is the shard.
  /// - Returns: the generation that was stored, if its record is readable, and the bytes that were
  ///   freed; nil if nothing was stored.
  private func removeClosed(
    _ name: String, _ text: String, isSweep: Bool = false
  ) throws(MediaCacheError) -> (generation: String?, bytes: Int64)? {
    let directory = budget.entryDirectory(named: name)
    let lock: WriterLock?
    do throws(DiskError) {
      guard try directory.disk.status(of: directory.path) != nil else { return nil }
      lock = try WriterLock.acquire(directory, waits: !isSweep)
      defer { withExtendedLifetime(lock) {} }
      if lock != nil, !(isSweep && budget.isOpen(name)) {
        guard let files = try directory.files() else { return nil }
        let record = directory.writtenRecord
        try budget.changing(name, before: files.allocatedBytes) { () throws(DiskError) in
          try directory.removeFiles(keepsShard: isSweep)
        }
        noteRemoval(name, record.map { CacheKey(rawValue: $0.key) }, files.allocatedBytes)
        return (record?.generation, files.allocatedBytes)
      }
    } catch {
      throw Self.failure(error, text)
    }
    throw MediaCacheError(
      .inUse, "Another process is writing \(text).", remedy: "Stop it, then try again.")
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

  fileprivate mutating func note(_ result: Result<Int64?, any Error>, of key: CacheKey) {
    switch result {
    case .success(let freed):
      guard let freed else { return }
      entries += 1
      freedBytes += freed
      resources.insert(Selection.resourceKey(of: key) ?? key)
    case .failure(let error):
      failures.append(error as? MediaCacheError ?? MediaCacheError(.storage, "\(error)"))
    }
  }
}
