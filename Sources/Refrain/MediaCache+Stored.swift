// SPDX-License-Identifier: MIT
package import Foundation

/// Looks at what is stored. Makes no request.
extension MediaCache {
  private static let lookupStep = 256

  /// Returns the stored amounts of parts of resources, in their order.
  ///
  /// - Parameter part: returns the part of a number, on no particular thread.
  /// - Throws: `CancellationError`.
  package func storedAmounts(
    of count: Int, _ part: @Sendable @escaping (Int) -> WantedPart
  ) async throws -> [StoredAmount] {
    let steps = stride(from: 0, to: count, by: Self.lookupStep).map {
      $0..<min($0 + Self.lookupStep, count)
    }
    let amounts = try await inParallel(steps) { step in
      let parts = step.map(part)
      return await self.look(at: Set(parts.map(\.key))) { $0.amounts(of: parts) }
    }
    return amounts.flatMap(\.self)
  }

  /// Returns the body stored under a key; nil if it is not complete, or longer than `longest`.
  package func storedBody(for key: CacheKey, longest: Int64) async -> StoredBody? {
    await look(at: [key]) { $0.body(for: key, longest: longest) }
  }

  /// Returns the bytes of a range that are stored at a URL; nil if one of them is missing, or they
  /// are more than `longest`.
  package func storedBytes(
    at url: URL, in range: ByteRange, longest: Int64
  ) async -> [UInt8]? {
    guard !range.isEmpty, range.count <= longest else { return nil }
    let key = key(for: Resource(url: url))
    return await look(at: [key]) { stored in
      stored.entry(for: key).flatMap { stored.bytes(in: range, of: $0) }
    }
  }

  /// Whether a document is stored under the key, or nothing that can be read. What was stored
  /// without rules is one if it is named so.
  package func mayBeDocument(_ key: CacheKey, by rules: any DocumentRules) async -> Bool {
    let known = table.openEntry(for: key)?.current?.withState { $0.known }
    if let known {
      let information = known.information
      return known.freshness.pace != nil
        || rules.isDocument(mimeType: information.mimeType, url: information.finalURL)
    }
    guard let record = await writtenRecord(for: key), let url = URL(string: record.finalURL)
    else { return true }
    return record.freshness.pace != nil || rules.isDocument(mimeType: record.mimeType, url: url)
  }

  /// Returns the record under a key as it was last written.
  func writtenRecord(for key: CacheKey) async -> EntryRecord? {
    let directory = budget.entryDirectory(named: KeyHash.name(of: key))
    return await IOThreads.background.run { directory.writtenRecord }
  }

  /// The stored bytes of a part.
  package struct StoredAmount: Sendable, Hashable {
    package var bytes: Int64 = 0
    /// Nil while the length of the resource is unknown.
    package var total: Int64?
    /// Of the entry that has the bytes; nil if nothing is stored.
    package var key: CacheKey?

    package init(bytes: Int64 = 0, total: Int64? = nil, key: CacheKey? = nil) {
      (self.bytes, self.total, self.key) = (bytes, total, key)
    }

    package var isComplete: Bool { bytes == total }

    /// 0…1.
    package var fraction: Double {
      guard let total, total > 0 else { return isComplete ? 1 : 0 }
      return Double(bytes) / Double(total)
    }
  }

  /// Returns what `look` finds in memory and on disk.
  func look<Found: Sendable>(
    at keys: Set<CacheKey>, _ look: @Sendable @escaping (StoredEntries) -> Found
  ) async -> Found {
    let stored = stored
    // What is being closed is on disk then.
    let entries = await table.settledEntries(for: keys)
    let found = await IOThreads.background.run { look(stored) }
    guard entries.contains(where: \.isClosed) else { return found }
    // The look may have missed what an entry had in memory, and its last record.
    _ = await table.settledEntries(for: keys)
    return await IOThreads.background.run { look(stored) }
  }
}

/// A part of a resource whose stored amount is looked up. Without a range: all of it. The headers, those
/// of a request, select a representation; nil: any.
package typealias WantedPart = (key: CacheKey, headers: HeaderFields?, range: ByteRange?)

/// A whole stored body.
package struct StoredBody: Sendable {
  package var body: [UInt8]
  /// After redirects.
  package var url: URL
  /// When the origin last sent or confirmed it; nil if that is unknown.
  package var answered: Uptime?

  package init(body: [UInt8], url: URL, answered: Uptime? = nil) {
    (self.body, self.url, self.answered) = (body, url, answered)
  }
}

extension StoredEntries {
  fileprivate func amounts(of parts: [WantedPart]) -> [MediaCache.StoredAmount] {
    // Of a stream in one file, all parts are ranges of the same entry.
    var last: (part: WantedPart, entry: EntrySummary?)?
    return parts.map { part in
      if last?.part.key != part.key || last?.part.headers != part.headers {
        let key = part.headers.map { storedKey(from: part.key, for: $0) }
        last = (part, entry(for: key ?? part.key))
      }
      guard let entry = last?.entry else { return .init() }
      guard let range = part.range else {
        return .init(bytes: entry.cachedBytes, total: entry.length, key: entry.key)
      }
      let wanted = range.clamped(to: 0..<max(entry.length ?? .max, 0))
      return .init(
        bytes: entry.spans.byteCount(in: wanted), total: Int64(wanted.count), key: entry.key)
    }
  }

  /// Returns the bytes of a range; nil if one of them is not stored, or if the entry was replaced or
  /// evicted since.
  fileprivate func bytes(in range: ByteRange, of entry: EntrySummary) -> [UInt8]? {
    guard entry.spans.byteCount(in: range) == Int64(range.count),
      let file = try? RegularFile(entry.file)
    else { return nil }
    defer { file.close() }
    let bytes = file.bytes(in: range)
    return bytes.count == range.count ? bytes : nil
  }

  fileprivate func body(for key: CacheKey, longest: Int64) -> StoredBody? {
    // One that was replaced or evicted in between is looked at again.
    for _ in 0..<4 {
      guard let entry = entry(for: key), entry.isComplete, entry.cachedBytes <= longest
      else { return nil }
      guard
        let record = budget.entryDirectory(named: KeyHash.name(of: key)).writtenRecord,
        record.key == key.rawValue, record.file == entry.file.lastPathComponent,
        let url = URL(string: record.finalURL),
        let body = bytes(in: 0..<entry.cachedBytes, of: entry)
      else { continue }
      // The record of an entry that is open is written later.
      let open = table.openEntry(for: key)?.current?.withState { state in
        state.generationID == record.generation ? state.freshness?.confirmedUptime : nil
      }
      return StoredBody(body: body, url: url, answered: open ?? record.freshness.confirmedUptime)
    }
    return nil
  }
}
