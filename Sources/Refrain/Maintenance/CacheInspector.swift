// SPDX-License-Identifier: MIT
import Foundation

/// Inspects a cache directory, even while it is in use. Methods that are not `async` block: call
/// them on `IOThreads` only.
struct CacheInspector: Sendable {
  let budget: DiskBudget
  let table: EntryTable
  let events: EventStreams
  /// Whether the cache serves several people.
  let isShared: Bool

  /// The size and number of entries, including unreadable ones, and the size of the pinned ones.
  typealias Size = (allocated: Int64, entries: Int, pinned: Int64)

  /// Returns all entries, the most recently used first.
  func entries() async throws -> (summaries: [EntrySummary], all: Size) {
    let locks = budget.locks
    let hasWriters = await IOThreads.background.run { locks.isHeld(nil) }
    let shards = try await Sweep(budget: budget).run { names, _ in
      var found: (summaries: [EntrySummary], all: Size) = ([], (0, 0, 0))
      for name in names {
        let summary = summary(named: name) { hasWriters && WriterLock.isHeld($0) }
        // An entry without a summary takes room all the same.
        let size =
          try summary.map { Self.size($0.allocatedBytes, isPinned: $0.isPinned) }
          ?? budget.measure(name).map(Self.size)
        guard let size else { continue }
        found.summaries += summary.map { [$0] } ?? []
        found.all = Self.sum([found.all, size])
      }
      return found
    }
    let found = shards.flatMap(\.summaries)
    // Sorting numbers is cheaper than sorting summaries.
    let order = found.map { ($0.lastAccess.timeIntervalSince1970, $0.key.rawValue) }
    let summaries = found.indices.sorted { order[$0] > order[$1] }.map { found[$0] }
    return (summaries, Self.sum(shards.map(\.all)))
  }

  private static func sum(_ sizes: [Size]) -> Size {
    sizes.reduce((0, 0, 0)) {
      ($0.allocated + $1.allocated, $0.entries + $1.entries, $0.pinned + $1.pinned)
    }
  }

  private static func size(_ allocated: Int64, isPinned: Bool) -> Size {
    (allocated, 1, isPinned ? allocated : 0)
  }

  private static func size(_ entry: Eviction.Candidate) -> Size {
    size(entry.allocatedBytes, isPinned: entry.pinnedBytes != nil)
  }

  func entry(for key: CacheKey) -> EntrySummary? {
    let summary = summary(named: KeyHash.name(of: key), isInUse: WriterLock.isHeld)
    return summary?.key == key ? summary : nil
  }

  /// Returns the requests for which the entry under a key may be used; nil if nothing is stored.
  func selection(for key: CacheKey) -> Selection? {
    let directory = budget.entryDirectory(named: KeyHash.name(of: key))
    guard let (record, _) = try? directory.loadRecord(), record.key == key.rawValue else {
      return nil
    }
    return Selection(headers: record.storedHeaders, variant: record.variant)
  }

  /// Returns the keys of other representations of resources. If there may be any, reads every
  /// record that `RepresentationKeys` does not know yet, once for all of the resources.
  ///
  /// - Parameters:
  ///   - remembered: what earlier searches have found.
  ///   - isCertain: whether to search for them even if they are unlikely.
  /// - Throws: `DiskError`; `CancellationError`.
  func representations(
    of keys: Set<CacheKey>, _ remembered: RepresentationKeys, isCertain: Bool = false
  ) async throws -> Set<CacheKey> {
    let open = table.openEntries.map(\.key)
    var others = Set(open.filter { Selection.isRepresentation($0, ofAny: keys) })
    var searched = isCertain ? keys : []
    if !isCertain {
      for key in keys {
        try Task.checkCancellation()
        if await IOThreads.background.run({ mayHaveOthers(key) }) { searched.insert(key) }
      }
    }
    guard !searched.isEmpty else { return others }
    others.formUnion(
      try await remembered.representations(of: searched, in: budget))
    return others
  }

  /// Whether other representations of a resource may well be stored. Blocks.
  private func mayHaveOthers(_ key: CacheKey) -> Bool {
    let open = table.openEntry(for: key)?.current
    let known = open?.withState { $0.representation.selection }
    // If nothing is stored under the key itself, other representations may exist.
    guard let selection = selection(for: key) ?? known else { return true }
    return !selection.varying.isEmpty || isShared || isSharable(key)
  }

  /// Whether a shared cache has stored the entry, which stores responses for credentials under keys
  /// of their own from the start. Blocks.
  private func isSharable(_ key: CacheKey) -> Bool {
    let directory = budget.entryDirectory(named: KeyHash.name(of: key))
    return (try? directory.loadRecord().record.isSharable) == true
  }

  /// Returns the keys of the stored entries that fulfil a condition. Reads every record.
  ///
  /// - Throws: `DiskError`; `CancellationError`.
  func keys(
    where isIncluded: @Sendable @escaping (CacheKey, EntryRecord) -> Bool
  ) async throws -> [CacheKey] {
    return try await Sweep(budget: budget).run { names, _ in
      try names.compactMap { name -> CacheKey? in
        try Task.checkCancellation()
        // Nothing of an unreadable entry is used.
        guard let (record, _) = try? budget.entryDirectory(named: name).loadRecord() else {
          return nil
        }
        let key = CacheKey(rawValue: record.key)
        return isIncluded(key, record) ? key : nil
      }
    }.flatMap(\.self)
  }

  private func summary(
    named name: String, isInUse: (EntryDirectory) -> Bool
  ) -> EntrySummary? {
    let directory = budget.entryDirectory(named: name)
    var survey: EntryDirectory.Survey
    do throws(EntryDirectory.Problem) {
      survey = try directory.survey()
    } catch {
      switch error {
      case .empty, .newer: break
      case .broken(let why):
        events.send(.warning("The entry in \(directory.path) is ignored: \(why)."))
      case .unreadable(let failure):
        events.send(
          .warning("The entry in \(directory.path) cannot be read now: \(failure)."))
      }
      return nil
    }
    let record = survey.record
    let key = CacheKey(rawValue: record.key)
    guard let url = URL(string: record.url) else { return nil }
    // The state of an entry open in this process is newer than its record.
    let entry = table.openEntry(for: key)
    if let open = entry?.current {
      let (id, stored, known) = open.withState { ($0.generationID, $0.stored, $0.length) }
      if id == record.generation {
        survey.spans.formUnion(stored)
        survey.record.length = known ?? record.length
      }
    }
    // No more is claimed than the file can hold.
    let spans = survey.spansInFile
    let (length, cached) = (survey.record.length, spans.byteCount)
    return EntrySummary(
      key: key, url: url, length: length, mimeType: record.mimeType,
      validator: record.validator.display, spans: spans, cachedBytes: cached,
      allocatedBytes: survey.allocatedBytes,
      lastAccess: Date(timeIntervalSince1970: survey.lastAccess),
      isComplete: length == cached,
      isInUse: isInUse(directory), isPinned: survey.isPinned,
      file: URL(filePath: "\(directory.path)/\(record.file)", directoryHint: .notDirectory),
      group: (entry?.group ?? record.group).map { CacheKey(rawValue: $0) })
  }

  func usage() async throws -> Size {
    let shards = try await Sweep(budget: budget).run { names, _ in
      Self.sum(try names.compactMap { try budget.measure($0).map(Self.size) })
    }
    return Self.sum(shards)
  }
}
