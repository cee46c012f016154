// SPDX-License-Identifier: MIT
package import Foundation

/// Looks at what is stored. Makes no request.
extension MediaCache {
  /// Returns the stored amounts of parts of resources, in their order. Calls `part` with the number
  /// of each, on no particular thread. Throws `CancellationError`.
  package func storedAmounts(
    of count: Int, _ part: @Sendable @escaping (Int) -> WantedPart
  ) async throws -> [StoredAmount] {
    let amounts = try await inParallel(Array(stride(from: 0, to: count, by: 256))) { start in
      let parts = (start..<min(start + 256, count)).map(part)
      return await self.look(at: Set(parts.map(\.key))) { $0.amounts(of: parts) }
    }
    return amounts.flatMap(\.self)
  }

  /// Returns the body stored under a key, or a range of it; nil if it is not whole or too long.
  package func storedBody(
    for key: CacheKey, in range: ByteRange? = nil, longest: Int64
  ) async -> StoredBody? {
    await look(at: [key]) { $0.body(for: key, in: range, longest: longest) }
  }

  /// Whether a document is stored under the key, or nothing that can be read. What was stored
  /// without rules is one if it is named so.
  package func mayBeDocument(_ key: CacheKey, by rules: any DocumentRules) async -> Bool {
    let response = await IOThreads.background.run { stored.response(for: key) }
    guard let known = response else { return true }
    let (type, url) = (known.information.mimeType, known.information.finalURL)
    return known.freshness.pace != nil || rules.isDocument(mimeType: type, url: url)
  }

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

  func look<Found: Sendable>(
    at keys: Set<CacheKey>, _ look: @Sendable @escaping (StoredEntries) -> Found
  ) async -> Found {
    // Held: what an entry has in memory is not on disk yet. What was being closed is, by now.
    var held: [Entry] = []
    for key in keys {
      if let entry = await table.heldEntry(for: key) { held.append(entry) }
    }
    defer { for entry in held { entry.release() } }
    return await IOThreads.background.run { look(stored) }
  }
}

/// A part of a resource whose stored amount is looked up; all of it without a range. The headers of
/// a request select a representation; nil: any.
package typealias WantedPart = (key: CacheKey, headers: HeaderFields?, range: ByteRange?)

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
      let wanted = part.range?.clamped(to: 0..<max(entry.length ?? .max, 0))
      return .init(
        bytes: wanted.map { entry.spans.byteCount(in: $0) } ?? entry.cachedBytes,
        total: wanted.map { Int64($0.count) } ?? entry.length, key: entry.key)
    }
  }

  fileprivate func body(for key: CacheKey, in range: ByteRange?, longest: Int64) -> StoredBody? {
    guard let entry = entry(for: key), let range = range ?? entry.length.map({ 0..<$0 }),
      range.count <= longest, entry.spans.byteCount(in: range) == range.count,
      // It may have been replaced or evicted since.
      let record = budget.entryDirectory(named: KeyHash.name(of: key)).writtenRecord,
      record.key == key.rawValue, record.file == entry.file.lastPathComponent,
      let url = URL(string: record.finalURL), let file = try? RegularFile(entry.file)
    else { return nil }
    let body = file.bytes(in: range)
    guard body.count == range.count else { return nil }
    // The record of an entry that is open is written later.
    let open = table.openEntry(for: key)?.current?.withState { state in
      state.generationID == record.generation ? state.freshness?.confirmedUptime : nil
    }
    return StoredBody(body: body, url: url, answered: open ?? record.freshness.confirmedUptime)
  }
}
