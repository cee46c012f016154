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
    let steps = Array(stride(from: 0, to: parts.count, by: Self.lookupStep))
    var amounts = [StoredAmount](repeating: StoredAmount(), count: parts.count)
    try await withThrowingTaskGroup(of: (Int, [StoredAmount]).self) { group in
      for (number, start) in steps.enumerated() {
        if number >= Self.mostLookups, let (start, found) = try await group.next() {
          amounts.replaceSubrange(start..<start + found.count, with: found)
        }
        let step = parts[start..<min(start + Self.lookupStep, parts.count)]
        group.addTask { (start, try await self.amounts(step)) }
      }
      for try await (start, found) in group {
        amounts.replaceSubrange(start..<start + found.count, with: found)
      }
    }
    return amounts
  }

  private func amounts(_ parts: ArraySlice<StreamPlan.Part>) async throws -> [StoredAmount] {
    try Task.checkCancellation()
    let wanted = parts.map { (key: key(for: Resource(url: $0.url)), range: $0.range) }
    for (key, _) in wanted { await context.table.settledEntry(for: key)?.recordNow() }
    let inspector = CacheInspector(context: context)
    return await IOThreads.background.run {
      wanted.map { inspector.amount(of: $0.key, in: $0.range) }
    }
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
    let key = key(for: Resource(url: url))
    guard let manifest = await storedManifest(for: key) else { return nil }
    let final = self.key(for: Resource(url: manifest.url))
    return final == key ? manifest : await storedManifest(for: final)
  }
}

extension CacheInspector {
  fileprivate func amount(of key: CacheKey, in range: ByteRange?) -> MediaCache.StoredAmount {
    guard let entry = entry(for: key) else { return .init() }
    guard let range else { return .init(bytes: entry.cachedBytes, total: entry.length) }
    let wanted = range.clamped(to: 0..<max(entry.length ?? .max, 0))
    return .init(
      bytes: entry.spans.byteCount(in: wanted), total: wanted.upperBound - wanted.lowerBound)
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
