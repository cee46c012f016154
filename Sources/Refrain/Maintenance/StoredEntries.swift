// SPDX-License-Identifier: MIT
public import Foundation
import RefrainLocks

/// The entries of a cache directory, even while they are in use: lists, checks and removes them.
/// Methods that are not `async` block: call them on `IOThreads` only.
struct StoredEntries: Sendable {
  let budget: DiskBudget
  let table: EntryTable
  let events: EventStreams

  // MARK: Visiting

  /// The number of threads used at once; the others of `IOThreads.background` stay free for
  /// syncing.
  static let width = 4

  /// Receives the progress, on several threads at once: a call may be overtaken by a later one.
  typealias Progress = @Sendable (MediaCache.EntryProgress) -> Void

  /// Calls `body` with the name of each entry, on several threads at once, and one shard at a time
  /// per thread: most of the time is spent in system calls, which wait for the disk or run on
  /// another core. A cancelled task stops between two entries.
  ///
  /// - Parameter body: blocks.
  /// - Returns: the values that `body` returned, in the order of the directory.
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read; `CancellationError`.
  func visit<Value: Sendable>(
    progress: Progress? = nil, _ body: @Sendable @escaping (_ name: String) throws -> Value?
  ) async throws -> [Value] {
    try await reportingStorage {
      let shards = try await IOThreads.background.run { () throws(DiskError) in
        try budget.shards().map { shard throws(DiskError) in try budget.names(inShard: shard) }
      }
      let noteDone = counter(to: shards.reduce(0) { $0 + $1.count }, progress)
      return try await inParallel(shards, on: IOThreads.background) { names in
        try names.compactMap { name in
          try Task.checkCancellation()
          defer { noteDone() }
          return try body(name)
        }
      }.flatMap(\.self)
    }
  }

  /// Returns a function that counts what is done, and reports it.
  func counter(to total: Int, _ progress: Progress?) -> @Sendable () -> Void {
    let done = Atomic(0)
    return {
      let done = done.add(1, ordering: .relaxed).newValue
      progress?(MediaCache.EntryProgress(done: done, total: total))
    }
  }

  /// Returns the result of work that reads the directory, whose failures it reports.
  func reportingStorage<Result: Sendable>(_ work: () async throws -> Result) async throws -> Result
  {
    do {
      return try await work()
    } catch let error as DiskError {
      throw MediaCacheError(
        .storage, "The cache directory cannot be read: \(error).",
        remedy: "Check the disk and its permissions, then try again.")
    }
  }

  // MARK: Listing

  /// Returns all entries, the most recently used first, and the disk usage, which includes that of
  /// unreadable ones.
  ///
  /// - Parameter settles: whether to wait first until what is being closed is on disk.
  func listing(
    settles: Bool = false
  ) async throws -> (entries: [EntrySummary], usage: MediaCache.Usage) {
    if settles { _ = await table.settledEntries() }
    let locks = budget.locks
    let hasWriters = await IOThreads.background.run { locks.isHeld(nil) }
    let all = try await visit { name -> (summary: EntrySummary?, bytes: Int64, isPinned: Bool)? in
      if let summary = summary(named: name, mayBeInUse: hasWriters) {
        return (summary, summary.allocatedBytes, summary.isPinned)
      }
      return try budget.measure(name).map { (nil, $0.allocatedBytes, $0.pinnedBytes != nil) }
    }
    let usage = MediaCache.Usage(
      allocatedBytes: all.reduce(0) { $0 + $1.bytes },
      pinnedBytes: all.reduce(0) { $0 + ($1.isPinned ? $1.bytes : 0) },
      limit: budget.limit, entries: all.count)
    let entries = all.compactMap(\.summary).sorted {
      ($0.lastAccess, $0.key.rawValue) > ($1.lastAccess, $1.key.rawValue)
    }
    return (entries, usage)
  }

  /// Returns the disk usage. Looks at every entry, and reads no record but those of pinned ones.
  func usage() async throws -> MediaCache.Usage {
    let all = try await visit { try budget.measure($0) }
    return MediaCache.Usage(
      allocatedBytes: all.reduce(0) { $0 + $1.allocatedBytes },
      pinnedBytes: all.reduce(0) { $0 + ($1.pinnedBytes == nil ? 0 : $1.allocatedBytes) },
      limit: budget.limit, entries: all.count)
  }

  /// Returns the keys of the entries whose records are included. Reads every record.
  func keys(
    where isIncluded: @Sendable @escaping (EntryRecord) -> Bool
  ) async throws -> [CacheKey] {
    try await visit { name in
      // Nothing of an unreadable entry is used.
      guard let record = budget.entryDirectory(named: name).writtenRecord, isIncluded(record)
      else { return nil }
      return CacheKey(rawValue: record.key)
    }
  }

  func entry(for key: CacheKey) -> EntrySummary? {
    let summary = summary(named: KeyHash.name(of: key))
    return summary?.key == key ? summary : nil
  }

  /// Returns the key of the representation that a request selects, found by following `Vary` from the
  /// entry under a key; the first one that is not stored.
  func storedKey(from key: CacheKey, for request: HeaderFields) -> CacheKey {
    var key = key
    for _ in 0..<Selection.longestChain {
      guard let other = selection(for: key)?.otherKey(than: key, for: request) else { break }
      key = other
    }
    return key
  }

  private func selection(for key: CacheKey) -> Selection? {
    if let known = table.openEntry(for: key)?.current?.withState({ $0.known }) {
      return known.selection
    }
    let record = budget.entryDirectory(named: KeyHash.name(of: key)).writtenRecord
    guard let record, record.key == key.rawValue else { return nil }
    return Selection(headers: record.storedHeaders, variant: record.variant)
  }

  /// Returns the keys of the other representations of resources that are stored, or open here.
  /// Looks at one shard for each of the resources. Throws as `visit` does.
  func representations(of keys: Set<CacheKey>) async throws -> Set<CacheKey> {
    try await reportingStorage {
      try await IOThreads.background.runCancellably {
        var others = table.openEntries.map(\.key)
        for key in keys {
          try Task.checkCancellation()
          let family = KeyHash.family(of: key)
          for name in try budget.names(inShard: KeyHash.shard(of: family))
          where name.hasSuffix(family) && name != KeyHash.name(of: key) {
            // Nothing of an unreadable entry is used.
            guard let record = budget.entryDirectory(named: name).writtenRecord else { continue }
            others.append(CacheKey(rawValue: record.key))
          }
        }
        return Set(others.filter { Selection.isRepresentation($0, ofAny: keys) })
      }
    }
  }

  /// Returns the keys of a group's entries. Looks at every entry.
  func members(of group: CacheKey) async throws -> Set<CacheKey> {
    var all = try await listing(settles: true).entries.map { (key: $0.key, group: $0.group) }
    // An open entry may have become a part since its record was written.
    all += table.openEntries.compactMap { entry in
      entry.group.map { (entry.key, CacheKey(rawValue: $0)) }
    }
    let roots = GroupRoots(all)
    let root = roots.root(of: group, group: all.first { $0.key == group }?.group)
    guard root == nil || root == group else { return [] }
    return Set(
      all.filter { key, first in
        key == group || Selection.isRepresentation(key, ofAny: [group])
          || roots.root(of: key, group: first) == group
      }.map(\.key))
  }

  private func summary(named name: String, mayBeInUse: Bool = true) -> EntrySummary? {
    let directory = budget.entryDirectory(named: name)
    var contents: EntryDirectory.Contents
    do throws(EntryDirectory.Problem) {
      contents = try directory.loadRecord()
    } catch {
      if let warning = error.warning(of: "in \(directory.path)") { events.send(.warning(warning)) }
      return nil
    }
    let record = contents.record
    let key = CacheKey(rawValue: record.key)
    guard let url = URL(string: record.url),
      // An earlier version named the entries of other representations in another way.
      Selection.resourceKey(of: key) == nil || KeyHash.name(of: key) == name
    else { return nil }
    // The state of an entry open in this process is newer than its record.
    let entry = table.openEntry(for: key)
    if let open = entry?.current {
      let (id, stored, known) = open.withState { ($0.generationID, $0.stored, $0.length) }
      if id == record.generation {
        contents.spans.formUnion(stored)
        contents.record.length = known ?? record.length
      }
    }
    // No more is claimed than the file can hold.
    let spans = contents.spansInFile
    let (length, cached) = (contents.record.length, spans.byteCount)
    return EntrySummary(
      key: key, url: url, length: length, mimeType: record.mimeType,
      validator: record.validator.display, spans: spans, cachedBytes: cached,
      allocatedBytes: contents.files.allocatedBytes,
      lastAccess: Date(timeIntervalSince1970: contents.files.lastAccess),
      isComplete: length == cached,
      isInUse: mayBeInUse && directory.locks.isHeld(name),
      isPinned: contents.files.isPinned,
      file: URL(filePath: "\(directory.path)/\(record.file)", directoryHint: .notDirectory),
      group: (entry?.group ?? record.group).map { CacheKey(rawValue: $0) })
  }
}

/// The stored state of one resource.
public struct EntrySummary: Sendable, Hashable {
  public var key: CacheKey
  public var url: URL
  /// The length in bytes; nil while unknown.
  public var length: Int64?
  public var mimeType: String?
  public var validator: String?
  /// The stored ranges.
  public var spans: RangeSet<Int64>
  public var cachedBytes: Int64
  /// The disk space of the entry, in bytes of allocated blocks.
  public var allocatedBytes: Int64
  public var lastAccess: Date
  public var isComplete: Bool
  /// Whether a process has the entry open for writing.
  public var isInUse: Bool
  /// Whether the entry is pinned, and never evicted (`MediaCache.pin(_:)`).
  public var isPinned: Bool
  /// The data file; sparse while the entry is incomplete.
  public var file: URL
  /// The key of the first resource of the group as a part of which the entry was last recorded
  /// (`ResourcePolicy.Group`); nil if none is known. Nil, too, for the first resource itself.
  public var group: CacheKey?
}

/// Calls `body` for each element, for a few at once. Ends with the first error, or when the task is
/// cancelled.
///
/// - Parameter executor: where `body` runs; nil: where the caller's task runs.
/// - Returns: the values in the order of the elements.
func inParallel<Element: Sendable, Value: Sendable>(
  _ elements: [Element], on executor: (any TaskExecutor)? = nil,
  _ body: @Sendable @escaping (Element) async throws -> Value
) async throws -> [Value] {
  try await withThrowingTaskGroup(of: [(Int, Value)].self) { group in
    for first in 0..<min(StoredEntries.width, elements.count) {
      group.addTask(executorPreference: executor) {
        var values: [(Int, Value)] = []
        for index in stride(from: first, to: elements.count, by: StoredEntries.width) {
          try Task.checkCancellation()
          values.append((index, try await body(elements[index])))
          // Other tasks wait for the same threads.
          await Task.yield()
        }
        return values
      }
    }
    return try await group.reduce(into: []) { $0 += $1 }.sorted { $0.0 < $1.0 }.map(\.1)
  }
}
