// SPDX-License-Identifier: MIT
package import Foundation

/// Looks at stored streams. Makes no request.
extension MediaCache {
  private static let mostLookups = 4
  private static let lookupStep = 256

  /// Returns the stored amounts of parts, in their order.
  ///
  /// - Throws: `CancellationError`.
  package func storedAmounts(of parts: [StreamPlan.Part]) async throws -> [StoredAmount] {
    try await lookUp(parts) { try await self.amounts($0) }
  }

  /// Returns how much is stored under each of the keys, in their order.
  ///
  /// - Throws: `CancellationError`.
  package func progress(of keys: [CacheKey]) async throws -> [CacheProgress] {
    try await lookUp(keys) { try await self.progress($0) }
  }

  /// Looks at many items, a few steps at a time.
  private func lookUp<Item: Sendable, Found: Sendable>(
    _ items: [Item], _ look: @escaping @Sendable (ArraySlice<Item>) async throws -> [Found]
  ) async throws -> [Found] {
    let starts = Array(stride(from: 0, to: items.count, by: Self.lookupStep))
    var steps = [[Found]](repeating: [], count: starts.count)
    try await withThrowingTaskGroup(of: (Int, [Found]).self) { group in
      for (number, start) in starts.enumerated() {
        if number >= Self.mostLookups, let (done, found) = try await group.next() {
          steps[done] = found
        }
        let step = items[start..<min(start + Self.lookupStep, items.count)]
        group.addTask { (number, try await look(step)) }
      }
      for try await (done, found) in group { steps[done] = found }
    }
    return Array(steps.joined())
  }

  private func amounts(_ parts: ArraySlice<StreamPlan.Part>) async throws -> [StoredAmount] {
    try Task.checkCancellation()
    let wanted = parts.map { part in
      let resource = Resource(url: part.url)
      return (
        keys: possibleKeys(for: resource), signature: signature(of: resource), range: part.range
      )
    }
    for key in wanted.flatMap(\.keys) { await context.table.settledEntry(for: key)?.recordNow() }
    let inspector = CacheInspector(context: context)
    return await IOThreads.background.run {
      wanted.map { inspector.amount(of: $0.keys, $0.signature, in: $0.range) }
    }
  }

  private func progress(_ keys: ArraySlice<CacheKey>) async throws -> [CacheProgress] {
    try Task.checkCancellation()
    for key in keys where context.table.openEntry(for: key) == nil {
      await context.table.settledEntry(for: key)?.recordNow()
    }
    let inspector = CacheInspector(context: context)
    return await IOThreads.background.run { keys.map(inspector.progress) }
  }

  /// Returns the manifest stored under a key; nil if it is not complete, or too long for one.
  package func storedManifest(for key: CacheKey) async -> StoredManifest? {
    await context.table.settledEntry(for: key)?.recordNow()
    let inspector = CacheInspector(context: context)
    return await IOThreads.background.run { inspector.manifest(for: key) }
  }

  /// Returns the manifest stored under the key of a URL, if clients can reach it there without a
  /// request: also its URL after redirects has an entry.
  package func storedManifest(at url: URL) async -> StoredManifest? {
    let key = await entryKey(for: Resource(url: url))
    guard let manifest = await storedManifest(for: key) else { return nil }
    let final = await entryKey(for: Resource(url: manifest.url))
    return final == key ? manifest : await storedManifest(for: final)
  }
}

extension CacheInspector {
  /// - Parameters:
  ///   - keys: the first one with an entry counts.
  ///   - signature: for which it was stored.
  fileprivate func amount(
    of keys: [CacheKey], _ signature: URLSignature?, in range: ByteRange?
  ) -> MediaCache.StoredAmount {
    let entries = keys.lazy.compactMap { entry(for: $0) }
    guard let entry = entries.first(where: { isStored($0, for: signature) }) else {
      return .init()
    }
    guard let range else { return .init(bytes: entry.cachedBytes, total: entry.length) }
    let wanted = range.clamped(to: 0..<max(entry.length ?? .max, 0))
    return .init(
      bytes: entry.spans.byteCount(in: wanted), total: wanted.upperBound - wanted.lowerBound)
  }

  fileprivate func progress(of key: CacheKey) -> CacheProgress {
    if let generation = context.table.openEntry(for: key)?.current {
      return generation.withState { CacheProgress(length: $0.length, spans: $0.stored) }
    }
    return entry(for: key).map { CacheProgress(length: $0.length, spans: $0.spans) }
      ?? CacheProgress(length: nil, spans: RangeSet())
  }

  fileprivate func manifest(for key: CacheKey) -> StoredManifest? {
    guard let entry = entry(for: key), entry.isComplete, entry.cachedBytes <= Manifest.longest,
      let (record, _) = try? context.budget.entryDirectory(named: KeyHash.name(of: key))
        .loadRecord(),
      record.key == key.rawValue, record.file == entry.file.lastPathComponent,
      let url = URL(string: record.finalURL),
      // An entry that was replaced or evicted since counts as missing.
      let body = try? Data(contentsOf: entry.file), Int64(body.count) >= entry.cachedBytes
    else { return nil }
    return StoredManifest(body: [UInt8](body.prefix(Int(entry.cachedBytes))), url: url)
  }
}
