// SPDX-License-Identifier: MIT
public import Foundation
import RefrainLocks

/// The entries of a cache directory, even while they are in use: lists, checks and removes them.
/// Methods that are not `async` block: call them on `IOThreads` only.
struct StoredEntries: Sendable {
  let budget: DiskBudget
  let table: EntryTable
  let events: EventStreams

  /// The number of threads used at once: others stay free for syncing.
  static let width = 4

  /// Called on several threads at once.
  typealias Progress = @Sendable (MediaCache.EntryProgress) -> Void

  /// Calls `body`, which blocks, with the name of each entry, or of those of some resources in all
  /// their representations, on several threads at once. Throws `MediaCacheError`, `.storage` if the
  /// directory cannot be read; `CancellationError`.
  func visit<Value: Sendable>(
    of resources: Set<CacheKey>? = nil, _ progress: Progress? = nil,
    _ body: @Sendable @escaping (_ name: String) throws -> Value?
  ) async throws -> [Value] {
    let families = resources.map { Set($0.map(KeyHash.family)) }
    do {
      let names = try await IOThreads.background.run {
        let shards = try families.map { Set($0.map(KeyHash.shard)) } ?? Set(budget.shards())
        return try shards.sorted().flatMap { shard in
          try budget.names(inShard: shard).filter { name in
            families?.contains(String(name.suffix(16))) ?? true
          }
        }
      }
      return try await inParallel(names, progress) { try body($0) }.compactMap(\.self)
    } catch let error as DiskError {
      throw MediaCacheError(
        .storage, "The cache directory cannot be read: \(error).",
        remedy: "Check the disk and its permissions, then try again.")
    }
  }

  /// Returns all entries, the most recently used first, and the disk usage, also of unreadable ones.
  func listing() async throws -> (entries: [EntrySummary], usage: MediaCache.Usage) {
    // What is being closed is then on disk.
    _ = try await table.settledEntries()
    let all = try await visit { name -> (summary: EntrySummary?, bytes: Int64, isPinned: Bool)? in
      if let summary = summary(named: name) {
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

  func entry(for key: CacheKey) -> EntrySummary? {
    let summary = summary(named: KeyHash.name(of: key))
    return summary?.key == key ? summary : nil
  }

  /// Returns the key of the representation that a request selects by `Vary`, stored or not.
  func storedKey(from key: CacheKey, for request: HeaderFields) -> CacheKey {
    var key = key
    while let other = response(for: key)?.otherKey(than: key, for: request) { key = other }
    return key
  }

  /// Returns what is known of the response stored under a key; nil if nothing is stored.
  func response(for key: CacheKey) -> StoredResponse? {
    if let known = table.openEntry(for: key)?.current?.withState({ $0.known }) { return known }
    guard let record = budget.entryDirectory(named: KeyHash.name(of: key)).writtenRecord,
      record.key == key.rawValue
    else { return nil }
    var representation = Representation()
    representation.adopt(record)
    return StoredResponse(representation)
  }

  private func summary(named name: String) -> EntrySummary? {
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
    guard let url = URL(string: record.url), KeyHash.name(of: key) == name else { return nil }
    // The state of an entry open in this process is newer than its record.
    let entry = table.openEntry(for: key)
    if let open = entry?.current {
      let (id, stored, known) = open.withState { ($0.generationID, $0.stored, $0.length) }
      if id == record.generation {
        contents.spans.formUnion(stored)
        contents.record.length = known ?? record.length
      }
    }
    let spans = contents.spansInFile
    let (length, cached) = (contents.record.length, spans.byteCount)
    return EntrySummary(
      key: key, url: url, length: length, mimeType: record.mimeType,
      validator: record.validator.display, spans: spans, cachedBytes: cached,
      allocatedBytes: contents.files.allocatedBytes,
      lastAccess: Date(timeIntervalSince1970: contents.files.lastAccess),
      isComplete: length == cached, isInUse: WriterLock.isHeld(directory),
      isPinned: contents.files.isPinned,
      file: URL(filePath: "\(directory.path)/\(record.file)", directoryHint: .notDirectory),
      group: (entry?.group ?? record.group).map { CacheKey(rawValue: $0) })
  }
}

/// The outcome of checking an entry against its files.
public struct EntryVerification: Sendable, Hashable {
  /// The key of the entry; nil if no record names it.
  public var key: CacheKey?
  public var directory: URL
  /// The problems found, a sentence each; empty if there are none.
  public var problems: [String]
  /// Bytes dropped from the record; for a removed entry, the disk space that it used.
  public var droppedBytes: Int64
}

extension StoredEntries {
  func verify(_ key: CacheKey?, progress: Progress?) async throws -> [EntryVerification] {
    let name = key.map { KeyHash.name(of: $0) }
    return try await visit(of: key.map { [$0] }, progress) { found in
      name == nil || name == found ? try verify(named: found) : nil
    }
  }

  private func verify(named name: String) throws -> EntryVerification? {
    let directory = budget.entryDirectory(named: name)
    var result = EntryVerification(
      key: nil, directory: URL(filePath: directory.path, directoryHint: .isDirectory),
      problems: [], droppedBytes: 0)
    // Keeps writers out. In a directory that is read-only, intact entries are checked without it.
    let locking = Result { () throws(DiskError) in
      try WriterLock.acquire(directory, waits: false)
    }
    defer { withExtendedLifetime(locking) {} }
    var dropped: Int64?
    var repair: () throws -> Void = { try directory.removeFiles() }
    do throws(EntryDirectory.Problem) {
      let (contents, held, problems) = try directory.examine()
      (result.key, result.problems) = (CacheKey(rawValue: contents.record.key), problems)
      dropped = contents.spans.byteCount - held.byteCount
      repair = {
        // The record is about to include spans that only a journal held.
        try directory.disk.syncFile("\(directory.path)/\(contents.record.file)")
        try directory.replace(contents, claiming: held)
      }
    } catch {
      result.problems = ["The entry was removed: \(error)."]
      if case .unreadable = error {
        result.problems = ["The entry was left unchanged: \(error)."]
        return result
      }
    }
    if result.problems.isEmpty { return result }
    result.key = result.key ?? directory.writtenRecord.map { CacheKey(rawValue: $0.key) }
    guard budget.openKey(name) == nil, try locking.get() != nil else {
      // It is in use.
      result.problems = []
      return result.key == nil ? nil : result
    }
    do {
      let freed = try budget.changing(name) { _ in try repair() }
      result.droppedBytes = dropped ?? freed
    } catch {
      result.problems.append("It could not be changed: \(error).")
    }
    return result
  }
}

extension EntryDirectory {
  /// Returns also the claimed spans that lie neither in a hole of the data file nor beyond its end.
  fileprivate func examine() throws(Problem) -> (
    Contents, held: RangeSet<Int64>, problems: [String]
  ) {
    let contents = try loadRecord()
    guard contents.data?.kind == .file else { throw .broken("its data file is missing") }
    let record = contents.record
    let data = try reading { try disk.open("\(path)/\(record.file)", .read) }
    defer { disk.close(data) }
    let holes: RangeSet<Int64>
    // A file system that cannot report them, with any error, says nothing about the entry.
    do { holes = try disk.holes(in: data) } catch { throw .unreadable(error) }
    let held = contents.spansInFile.subtracting(holes)
    let missing = contents.spans.byteCount - held.byteCount
    let foreign = contents.files.statuses.count { name, _ in
      name != EntryRecord.fileName && name != record.file && !Self.isMark(name)
        && SpanJournal.epoch(of: name, generation: record.generation) == nil
    }
    let problems = [
      missing > 0 ? "\(missing) bytes were missing from the data file and were dropped." : nil,
      foreign > 0 ? "\(foreign) foreign files in the entry's directory were removed." : nil,
    ].compactMap(\.self)
    return (contents, held, problems)
  }
}

/// Calls `body` for each element, a few at once, on `IOThreads.background`, and returns the values in
/// their order. Ends with the first error, or when the task is cancelled.
func inParallel<Element: Sendable, Value: Sendable>(
  _ elements: [Element], _ progress: StoredEntries.Progress? = nil,
  _ body: @Sendable @escaping (Element) async throws -> Value
) async throws -> [Value] {
  let done = Atomic(0)
  let noteDone: @Sendable () -> Void = {
    let done = done.add(1, ordering: .relaxed).newValue
    progress?(MediaCache.EntryProgress(done: done, total: elements.count))
  }
  return try await withThrowingTaskGroup(of: [(Int, Value)].self) { group in
    for first in 0..<min(StoredEntries.width, elements.count) {
      group.addTask(executorPreference: IOThreads.background) {
        var values: [(Int, Value)] = []
        for index in stride(from: first, to: elements.count, by: StoredEntries.width) {
          try Task.checkCancellation()
          values.append((index, try await body(elements[index])))
          noteDone()
          // Other tasks wait for the same threads.
          if values.count % 16 == 0 { await Task.yield() }
        }
        return values
      }
    }
    return try await group.reduce(into: []) { $0 += $1 }.sorted { $0.0 < $1.0 }.map(\.1)
  }
}
