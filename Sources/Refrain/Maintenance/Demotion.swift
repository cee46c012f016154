// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// Makes entries the first to be evicted, such as the segments that have left a live playlist.
///
/// The time of the last access is moved to before 1970, and kept on disk as that of every entry: so
/// the order of eviction outlives the process. Using the entry makes it an ordinary one again.
extension MediaCache {
  /// The outcome for one entry.
  package enum Demotion: Sendable, Equatable {
    /// The entry goes first from now on. It takes so many bytes of disk.
    case demoted(bytes: Int64)
    /// The entry was used later than expected.
    case used(Date)
    case inUse
    /// The entry is never evicted.
    case pinned
    /// The entry is a part of another stream, or of none.
    case foreign
    /// There is no entry, or its file system has no times before 1970: the entry stays as it is.
    case missing
  }

  /// Makes entries the first to be evicted, in their present order among each other.
  ///
  /// - Parameters:
  ///   - streams: the keys of first manifests. Entries that are recorded as parts of other streams,
  ///     or of none, stay as they are.
  ///   - time: entries that were used after this time stay as they are.
  /// - Returns: the outcomes, in the order of the keys.
  package func demote(
    _ keys: [CacheKey], of streams: Set<CacheKey>, unusedSince time: Date
  ) async -> [Demotion] {
    let context = context
    return await IOThreads.background.run {
      keys.map { Demoting(context: context, streams: streams).demote($0, unusedSince: time) }
    }
  }

  /// Removes demoted entries that were not used since.
  ///
  /// - Returns: the bytes that were freed.
  package func removeDemoted(_ keys: [CacheKey]) async -> Int64 {
    let context = context
    let work = Task(executorPreference: IOThreads.background) {
      var freed: Int64 = 0
      for key in keys {
        let name = KeyHash.name(of: key)
        guard let last = Demoting.candidate(name, context)?.lastAccess,
          Eviction.isDemoted(last)
        else { continue }
        freed += await context.evictor.evict(name, lastAccess: last)
      }
      return freed
    }
    return await work.value
  }

  /// The most disk space for demoted entries: 256 MiB, or a sixteenth of the limit if that is less.
  package var demotedLimit: Int64 { min(256 << 20, (limit ?? .max) / 16) }
}

/// The steps of demoting, which block.
private struct Demoting {
  let context: CacheContext
  let streams: Set<CacheKey>

  static func candidate(_ name: String, _ context: CacheContext) -> Eviction.Candidate? {
    // An entry that cannot be measured counts as missing: eviction reports the reason.
    try? context.budget.measure(name)
  }

  private func candidate(_ name: String) -> Eviction.Candidate? { Self.candidate(name, context) }

  /// Whether the entry's record names one of the streams.
  private func isPart(_ name: String) -> Bool {
    // A record that cannot be read names none.
    let record = try? context.budget.entryDirectory(named: name).loadRecord().record
    return record?.stream.map { streams.contains(CacheKey(rawValue: $0)) } ?? false
  }

  func demote(_ key: CacheKey, unusedSince time: Date) -> MediaCache.Demotion {
    let (budget, name) = (context.budget, KeyHash.name(of: key))
    if budget.isOpen(name) { return .inUse }
    guard let before = candidate(name) else { return .missing }
    if before.pinnedBytes != nil { return .pinned }
    guard isPart(name) else { return .foreign }
    let timeOfUse = Eviction.timeOfUse(before.lastAccess)
    if timeOfUse > time.timeIntervalSince1970 {
      return .used(Date(timeIntervalSince1970: timeOfUse))
    }
    if Eviction.isDemoted(before.lastAccess) { return .demoted(bytes: before.allocatedBytes) }
    let record = budget.entryDirectory(named: name).recordPath
    do throws(DiskError) {
      try budget.disk.setChangeTime(of: record, to: Eviction.demoted(timeOfUse))
    } catch {
      if !error.isMissing {
        context.events.send(.warning("The age of \(key) could not be changed: \(error)."))
      }
      return .missing
    }
    if budget.isOpen(name) {
      // It was opened meanwhile, perhaps before its time was moved.
      budget.touch(name)
      return .inUse
    }
    guard let after = candidate(name) else { return .missing }
    guard Eviction.isDemoted(after.lastAccess) else {
      // If that fails too, the entry keeps what the file system made of its time.
      try? budget.disk.setChangeTime(of: record, to: timeOfUse)
      return .missing
    }
    budget.index.withLock { if !$0.isOpen(name) { $0.note(after) } }
    return .demoted(bytes: after.allocatedBytes)
  }
}
