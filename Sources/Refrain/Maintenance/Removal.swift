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
  let companions: Companions
  let events: EventStreams
  let clock: @Sendable () -> Moment
  /// The beginning of the removal.
  let time: Date

  init(
    budget: DiskBudget, table: EntryTable, companions: Companions, events: EventStreams,
    clock: @escaping @Sendable () -> Moment
  ) {
    (self.budget, self.table, self.companions) = (budget, table, companions)
    (self.events, self.clock) = (events, clock)
    time = clock().wall
  }

  /// The number of entries removed at once, each of which waits for the disk.
  private static let width = 4

  /// Removes entries.
  ///
  /// - Parameter done: called with the number of finished entries.
  /// - Throws: `CancellationError`, with some of the entries removed.
  func remove(_ keys: Set<CacheKey>, done: (Int) -> Void = { _ in }) async throws
    -> MediaCache.Removed
  {
    try await withThrowingTaskGroup(
      of: (key: CacheKey, result: Result<Int64?, any Error>).self
    ) { group in
      var waiting = Array(keys)
      for _ in 0..<min(Self.width, waiting.count) {
        group.addTask { [key = waiting.removeLast()] in try await result(of: key) }
      }
      var removed = MediaCache.Removed()
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
      let (generation, more) = try await removeClosed(KeyHash.name(of: key), key)
      freed = more.map { $0 + (freed ?? 0) } ?? freed
      // A request may have opened the entry, and read its record, just before that.
      guard let generation,
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

  /// Removes an entry that is not open here.
  ///
  /// - Parameter key: nil if its record is unreadable.
  /// - Returns: the generation that was stored, and the bytes that were freed; nil if nothing was
  ///   stored.
  func removeClosed(
    _ name: String, _ key: CacheKey?
  ) async throws -> (generation: String?, freed: Int64?) {
    let directory = budget.entryDirectory(named: name)
    let text = key?.rawValue ?? directory.resourceName
    return try await IOThreads.background.run {
      // An unreadable record is removed, and is not used.
      let generation = (try? directory.loadRecord())?.record.generation
      do {
        guard let freed = try remove(directory, text) else { return (nil, nil) }
        noteRemoval(name, key, freed)
        return (generation, freed)
      } catch let error as DiskError {
        throw Self.failure(error, text)
      }
    }
  }

  /// - Returns: the bytes that were freed; nil if nothing was stored.
  private func remove(_ directory: EntryDirectory, _ text: String) throws -> Int64? {
    guard try directory.disk.status(of: directory.path) != nil else { return nil }
    guard let lock = try WriterLock.acquire(directory) else {
      throw MediaCacheError(
        .inUse, "Another process is writing \(text).", remedy: "Stop it, then try again.")
    }
    defer { withExtendedLifetime(lock) {} }
    let size = try budget.measure(directory.name)?.allocatedBytes ?? 0
    try budget.changing(directory.name, before: size) { try directory.removeFiles() }
    return size
  }

  private static func failure(_ error: DiskError, _ text: String) -> MediaCacheError {
    MediaCacheError(
      .storage, "\(text) could not be removed: \(error).",
      remedy: "Check the disk and the permissions of the cache directory.")
  }
}

extension MediaCache {
  /// The outcome of removing several entries.
  package struct Removed: Sendable {
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
}
