// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Purges one entry after the other.
struct Purge: Sendable {
  let context: CacheContext
  /// The beginning of the purge.
  let time: Date

  /// An entry that can be neither held nor found closed for so long belongs to a closed cache.
  private static let mostAttempts = 1000

  /// As `run`, with the reason why an entry could not be purged.
  ///
  /// - Throws: `CancellationError`.
  func outcome(
    of key: CacheKey
  ) async throws -> (key: CacheKey, result: Result<Int64?, any Error>) {
    do {
      return (key, .success(try await run(key)))
    } catch let error as CancellationError {
      throw error
    } catch {
      return (key, .failure(error))
    }
  }

  /// Removes an entry.
  ///
  /// - Returns: the bytes of disk that were freed; nil if nothing was stored.
  func run(_ key: CacheKey) async throws -> Int64? {
    var freed: Int64?
    for _ in 0..<Self.mostAttempts {
      try Task.checkCancellation()
      if let open = await context.table.settledEntry(for: key) {
        guard open.tryHold() else {
          await Task.yield()
          continue
        }
        defer { open.release() }
        let more = try await run(open)
        return more.map { $0 + (freed ?? 0) } ?? freed
      }
      let (generation, more) = try await runClosed(key)
      freed = more.map { $0 + (freed ?? 0) } ?? freed
      // A request may have opened the entry, and read its record, just before that.
      guard let generation,
        await context.table.settledEntry(for: key)?.current?.withState(\.generationID) == generation
      else { return freed }
    }
    throw GenerationState.closed
  }

  // MARK: Open entries

  private func run(_ entry: Entry) async throws -> Int64? {
    let work = Task(executorPreference: IOThreads.background) { try await remove(entry) }
    do {
      return try await work.value
    } catch let error as DiskError {
      throw Self.failure(error, entry.key)
    }
  }

  private func remove(_ entry: Entry) async throws -> Int64? {
    context.budget.prepareToFree()
    let size = try context.budget.measure(entry.name)?.allocatedBytes ?? 0
    let isKnown = entry.current?.withState { $0.known != nil } ?? false
    let hadFiles = try await entry.storage.purge(entry, at: time)
    // Its first response may be about to come.
    guard isKnown || (hadFiles && size > 0) else { return nil }
    noteRemoval(entry.key, size)
    return size
  }

  private func noteRemoval(_ key: CacheKey, _ size: Int64) {
    context.budget.index.withLock { $0.forget(KeyHash.name(of: key)) }
    context.budget.report()
    context.events.send(.evicted(key, bytes: size))
  }

  // MARK: Closed entries

  /// - Returns: the generation that was stored, and the bytes that were freed; nil if nothing was
  ///   stored.
  private func runClosed(_ key: CacheKey) async throws -> (generation: String?, freed: Int64?) {
    let context = context
    let directory = context.budget.entryDirectory(named: KeyHash.name(of: key))
    return try await IOThreads.background.run {
      // An unreadable record is removed, and is not used.
      let generation = (try? directory.loadRecord())?.record.generation
      do {
        context.budget.prepareToFree()
        guard let freed = try Removal.remove(directory, key, in: context.budget) else {
          return (nil, nil)
        }
        noteRemoval(key, freed)
        return (generation, freed)
      } catch let error as DiskError {
        throw Self.failure(error, key)
      }
    }
  }

  private static func failure(
    _ error: DiskError, _ key: CacheKey
  ) -> MediaCacheError {
    MediaCacheError(
      .storage, "\(key) could not be purged: \(error).",
      remedy: "Check the disk and the permissions of the cache directory.")
  }
}
