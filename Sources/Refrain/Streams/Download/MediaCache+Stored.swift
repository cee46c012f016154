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
    let inspector = CacheInspector(context: context)
    return await context.table.look(at: Set(wanted.flatMap(\.keys))) {
      await IOThreads.background.run { inspector.amounts(of: wanted) }
    }
  }

  /// Returns how much is stored in the entry under a key.
  ///
  /// - Parameter range: nil: all of the resource.
  func storedAmount(of key: CacheKey, in range: ByteRange?) async -> StoredAmount {
    let inspector = CacheInspector(context: context)
    let part = WantedPart(keys: [key], range: range)
    return await context.table.look(at: key) {
      await IOThreads.background.run {
        inspector.storedEntry(of: part)?.amount(in: range) ?? .init()
      }
    }
  }

  /// Returns the manifest stored under a key; nil if it is not complete, or too long for one.
  package func storedManifest(for key: CacheKey) async -> StoredManifest? {
    let inspector = CacheInspector(context: context)
    return await context.table.look(at: key) {
      await IOThreads.background.run { inspector.manifest(for: key) }
    }
  }

  /// Returns the bytes of a range that are stored at a URL; nil if one of them is missing, or they
  /// are more than a manifest may have.
  package func storedBytes(at url: URL, in range: ByteRange) async -> [UInt8]? {
    guard !range.isEmpty, range.count <= Manifest.longest else { return nil }
    let inspector = CacheInspector(context: context)
    for key in possibleKeys(for: Resource(url: url)) {
      let found = await context.table.look(at: key) {
        await IOThreads.background.run { inspector.bytes(in: range, for: key) }
      }
      if let found { return found }
    }
    return nil
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

  func isOfSameEntry(as other: WantedPart) -> Bool {
    keys == other.keys && signature == other.signature && headers == other.headers
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
  fileprivate func amounts(of parts: [WantedPart]) -> [MediaCache.StoredAmount] {
    // Of a stream in one file, all parts are ranges of the same entry.
    var last: (part: WantedPart, entry: EntrySummary?)?
    return parts.map { part in
      if last?.part.isOfSameEntry(as: part) != true { last = (part, storedEntry(of: part)) }
      return last?.entry?.amount(in: part.range) ?? .init()
    }
  }

  fileprivate func storedEntry(of part: WantedPart) -> EntrySummary? {
    let entries = part.keys.lazy.compactMap { entry(for: $0) }
    return entries.first { isStored($0, for: part.signature) }
      .flatMap { representation(of: $0, selectedBy: part.headers) }
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
    for _ in 0..<Self.mostLooks {
      guard let entry = entry(for: key), entry.isComplete, entry.cachedBytes <= Manifest.longest
      else { return nil }
      if let manifest = manifest(of: entry, for: key) { return manifest }
    }
    return nil
  }

  /// A replaced entry is looked at again so many times.
  private static let mostLooks = 4

  /// - Returns: nil if the entry was replaced or evicted since.
  private func manifest(of entry: EntrySummary, for key: CacheKey) -> StoredManifest? {
    guard
      let (record, _) = try? context.budget.entryDirectory(named: KeyHash.name(of: key))
        .loadRecord(),
      record.key == key.rawValue, record.file == entry.file.lastPathComponent,
      let url = URL(string: record.finalURL),
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
