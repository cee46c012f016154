// SPDX-License-Identifier: MIT
package import Foundation

/// Looks at what is stored. Makes no request.
extension MediaCache {
  private static let mostLookups = 4
  private static let lookupStep = 256

  /// Returns the stored amounts of parts of resources, in their order.
  ///
  /// - Parameter part: returns the part of a number, on no particular thread.
  /// - Throws: `CancellationError`.
  package func storedAmounts(
    of count: Int, _ part: @Sendable @escaping (Int) -> WantedPart
  ) async throws -> [StoredAmount] {
    let starts = Array(stride(from: 0, to: count, by: Self.lookupStep))
    var steps = [[StoredAmount]](repeating: [], count: starts.count)
    try await withThrowingTaskGroup(of: (Int, [StoredAmount]).self) { group in
      for (number, start) in starts.enumerated() {
        if number >= Self.mostLookups, let (done, found) = try await group.next() {
          steps[done] = found
        }
        let step = start..<min(start + Self.lookupStep, count)
        group.addTask {
          try Task.checkCancellation()
          let lookups = step.map { index in
            let part = part(index)
            return PartLookup(
              key: self.key(for: part.resource),
              headers: part.isOfAnyRepresentation ? nil : part.resource.headers, range: part.range)
          }
          return (number, await self.amounts(lookups))
        }
      }
      for try await (done, found) in group { steps[done] = found }
    }
    return Array(steps.joined())
  }

  private func amounts(_ lookups: [PartLookup]) async -> [StoredAmount] {
    let inspector = inspector
    return await table.look(at: Set(lookups.map(\.key))) {
      await IOThreads.background.run { inspector.amounts(of: lookups) }
    }
  }

  /// Returns how much is stored in the entry under a key.
  ///
  /// - Parameter range: nil: all of the resource.
  package func storedAmount(of key: CacheKey, in range: ByteRange?) async -> StoredAmount {
    await amounts([PartLookup(key: key, range: range)]).first ?? .init()
  }

  /// Returns the body stored under a key; nil if it is not complete, or longer than `longest`.
  package func storedBody(for key: CacheKey, longest: Int64) async -> StoredBody? {
    let inspector = inspector
    return await table.look(at: key) {
      await IOThreads.background.run { inspector.body(for: key, longest: longest) }
    }
  }

  /// Returns the bytes of a range that are stored at a URL; nil if one of them is missing, or they
  /// are more than `longest`.
  package func storedBytes(
    at url: URL, in range: ByteRange, longest: Int64
  ) async -> [UInt8]? {
    guard !range.isEmpty, range.count <= longest else { return nil }
    let inspector = inspector
    let key = key(for: Resource(url: url))
    return await table.look(at: key) {
      await IOThreads.background.run { inspector.bytes(in: range, for: key) }
    }
  }
}

/// A part of a resource whose stored amount is looked up.
package struct WantedPart: Sendable {
  package var resource: Resource
  /// Nil: all of the resource.
  package var range: ByteRange?
  /// Whether any representation counts, in place of the one that the resource's headers select.
  package var isOfAnyRepresentation: Bool

  package init(_ resource: Resource, in range: ByteRange?, isOfAnyRepresentation: Bool = false) {
    (self.resource, self.range) = (resource, range)
    self.isOfAnyRepresentation = isOfAnyRepresentation
  }
}

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

/// How the entry with a part is found.
private struct PartLookup: Sendable {
  var key: CacheKey
  /// The headers that select a representation; nil: any counts.
  var headers: HeaderFields?
  /// Nil: all of the resource.
  var range: ByteRange?

  func isOfSameEntry(as other: PartLookup) -> Bool {
    key == other.key && headers == other.headers
  }
}

extension EntrySummary {
  /// - Parameter range: nil: all of the resource.
  fileprivate func amount(in range: ByteRange?) -> MediaCache.StoredAmount {
    guard let range else { return .init(bytes: cachedBytes, total: length, key: key) }
    let wanted = range.clamped(to: 0..<max(length ?? .max, 0))
    return .init(
      bytes: spans.byteCount(in: wanted), total: wanted.upperBound - wanted.lowerBound, key: key)
  }
}

extension CacheInspector {
  fileprivate func amounts(of parts: [PartLookup]) -> [MediaCache.StoredAmount] {
    // Of a stream in one file, all parts are ranges of the same entry.
    var last: (part: PartLookup, entry: EntrySummary?)?
    return parts.map { part in
      if last?.part.isOfSameEntry(as: part) != true { last = (part, storedEntry(of: part)) }
      return last?.entry?.amount(in: part.range) ?? .init()
    }
  }

  fileprivate func storedEntry(of part: PartLookup) -> EntrySummary? {
    let entry = entry(for: part.key)
    guard entry != nil, let headers = part.headers else { return entry }
    let key = storedKey(from: part.key, for: headers)
    return key == part.key ? entry : self.entry(for: key)
  }

  fileprivate func bytes(in range: ByteRange, for key: CacheKey) -> [UInt8]? {
    guard let entry = entry(for: key), entry.spans.byteCount(in: range) == Int64(range.count)
    else { return nil }
    // An entry that was replaced or evicted since counts as missing.
    guard let file = try? FileHandle(forReadingFrom: entry.file) else { return nil }
    defer { try? file.close() }
    guard (try? file.seek(toOffset: UInt64(range.lowerBound))) != nil,
      let data = try? file.read(upToCount: range.count), data.count == range.count
    else { return nil }
    return [UInt8](data)
  }

  fileprivate func body(for key: CacheKey, longest: Int64) -> StoredBody? {
    for _ in 0..<Self.mostLooks {
      guard let entry = entry(for: key), entry.isComplete, entry.cachedBytes <= longest
      else { return nil }
      if let body = body(of: entry, for: key) { return body }
    }
    return nil
  }

  /// A replaced entry is looked at again so many times.
  private static let mostLooks = 4

  /// - Returns: nil if the entry was replaced or evicted since.
  private func body(of entry: EntrySummary, for key: CacheKey) -> StoredBody? {
    guard
      let record = budget.entryDirectory(named: KeyHash.name(of: key)).writtenRecord,
      record.key == key.rawValue, record.file == entry.file.lastPathComponent,
      let url = URL(string: record.finalURL),
      let body = try? Data(contentsOf: entry.file), Int64(body.count) >= entry.cachedBytes
    else { return nil }
    // The record of an entry that is open is written later.
    let open = table.openEntry(for: key)?.current?.withState { state in
      state.generationID == record.generation ? state.freshness?.confirmedUptime : nil
    }
    return StoredBody(
      body: [UInt8](body.prefix(Int(entry.cachedBytes))), url: url,
      answered: open ?? record.freshness.confirmedUptime)
  }
}

extension MediaCache {
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
}
