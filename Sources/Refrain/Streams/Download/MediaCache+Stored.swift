// SPDX-License-Identifier: MIT
package import Foundation

/// Looks at stored streams. Makes no request.
extension MediaCache {
  private static let mostLookups = 4
  private static let lookupStep = 256

  /// Returns the stored amounts of parts, in their order.
  ///
  /// - Parameter request: returns the resource by which a part is requested: of several
  ///   representations, the amount is that of the one which its headers select. Nil: of any.
  /// - Throws: `CancellationError`.
  package func storedAmounts(
    of parts: [StreamPlan.Part],
    requestedBy request: (@Sendable (StreamPlan.Part) -> Resource)? = nil
  ) async throws -> [StoredAmount] {
    let starts = Array(stride(from: 0, to: parts.count, by: Self.lookupStep))
    var steps = [[StoredAmount]](repeating: [], count: starts.count)
    try await withThrowingTaskGroup(of: (Int, [StoredAmount]).self) { group in
      for (number, start) in starts.enumerated() {
        if number >= Self.mostLookups, let (done, found) = try await group.next() {
          steps[done] = found
        }
        let step = parts[start..<min(start + Self.lookupStep, parts.count)]
        group.addTask { (number, try await self.amounts(step, request)) }
      }
      for try await (done, found) in group { steps[done] = found }
    }
    return Array(steps.joined())
  }

  private func amounts(
    _ parts: ArraySlice<StreamPlan.Part>, _ request: (@Sendable (StreamPlan.Part) -> Resource)?
  ) async throws -> [StoredAmount] {
    try Task.checkCancellation()
    let wanted = parts.map { part in
      let resource = request?(part) ?? Resource(url: part.url)
      return WantedPart(
        keys: possibleKeys(for: resource), signature: signature(of: resource),
        headers: request == nil ? nil : resource.headers, range: part.range)
    }
    for key in wanted.flatMap(\.keys) { await context.table.settledEntry(for: key)?.recordNow() }
    let inspector = CacheInspector(context: context)
    return await IOThreads.background.run {
      wanted.map { inspector.amount(of: $0) }
    }
  }

  /// Returns how much is stored in the entry under a key.
  ///
  /// - Parameter range: nil: all of the resource.
  func storedAmount(of key: CacheKey, in range: ByteRange?) async -> StoredAmount {
    let inspector = CacheInspector(context: context)
    let part = WantedPart(keys: [key], range: range)
    return await context.table.look(at: key) {
      await IOThreads.background.run { inspector.amount(of: part) }
    }
  }

  /// Returns the manifest stored under a key; nil if it is not complete, or too long for one.
  package func storedManifest(for key: CacheKey) async -> StoredManifest? {
    let inspector = CacheInspector(context: context)
    return await context.table.look(at: key) {
      await IOThreads.background.run { inspector.manifest(for: key) }
    }
  }

  /// Returns the manifest stored under the key of a URL, if clients can reach it there without a
  /// request: it is also stored under its URL after redirects, if that is needed.
  package func storedManifest(at url: URL) async -> StoredManifest? {
    let key = await entryKey(for: Resource(url: url))
    guard let manifest = await storedManifest(for: key) else { return nil }
    guard isNeeded(at: manifest.url, besides: url) else { return manifest }
    return await storedManifest(for: entryKey(for: Resource(url: manifest.url)))
  }

  /// Whether a manifest that is stored under a URL is also needed under that after redirects, to
  /// which proxies redirect clients: its references are relative to it.
  ///
  /// Not if the URLs differ in their queries alone, for which nobody is redirected: the references
  /// are the same. Signatures and `CacheKeyRule` ignore parts of the query alone. Not if the
  /// user's own rule gives both URLs one key either: that entry serves both.
  package func isNeeded(at final: URL, besides url: URL) -> Bool {
    final.withoutQuery != url.withoutQuery
      && key(for: Resource(url: final)) != key(for: Resource(url: url))
  }
}

extension URL {
  fileprivate var withoutQuery: Substring {
    withoutUserInfo.absoluteString.prefix { $0 != "?" && $0 != "#" }
  }
}

/// A part whose stored amount is looked up.
private struct WantedPart: Sendable {
  /// The first one with an entry counts.
  var keys: [CacheKey]
  /// For which it was stored; nil: any.
  var signature: URLSignature?
  /// The headers that select a representation; nil: any counts.
  var headers: HeaderFields?
  /// Nil: all of the resource.
  var range: ByteRange?
}

extension CacheInspector {
  fileprivate func amount(of part: WantedPart) -> MediaCache.StoredAmount {
    let entries = part.keys.lazy.compactMap { entry(for: $0) }
    guard let first = entries.first(where: { isStored($0, for: part.signature) }),
      let entry = representation(of: first, selectedBy: part.headers)
    else { return .init() }
    guard let range = part.range else {
      return .init(bytes: entry.cachedBytes, total: entry.length, key: entry.key)
    }
    let wanted = range.clamped(to: 0..<max(entry.length ?? .max, 0))
    return .init(
      bytes: entry.spans.byteCount(in: wanted), total: wanted.upperBound - wanted.lowerBound,
      key: entry.key)
  }

  /// Returns the entry of the representation that the headers select, found by following `Vary`
  /// from any stored one; nil if it is not stored.
  private func representation(
    of entry: EntrySummary, selectedBy headers: HeaderFields?
  ) -> EntrySummary? {
    guard let headers else { return entry }
    var entry = entry
    for _ in 0..<MediaCache.longestChain {
      let open = context.table.openEntry(for: entry.key)?.current?.withState { $0.known }
      let selection = open?.selection ?? selection(for: entry.key)
      guard let other = selection?.otherKey(than: entry.key, for: headers) else { return entry }
      guard let next = self.entry(for: other) else { return nil }
      entry = next
    }
    return nil
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
    // The record of an entry that is open is written later.
    let open = context.table.openEntry(for: key)?.current?.withState { state in
      state.generationID == record.generation ? state.freshness?.confirmedUptime : nil
    }
    return StoredManifest(
      body: [UInt8](body.prefix(Int(entry.cachedBytes))), url: url,
      answered: open ?? record.freshness.confirmedUptime)
  }
}
