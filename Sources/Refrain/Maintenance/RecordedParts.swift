// SPDX-License-Identifier: MIT
package import Foundation

/// An entry that is recorded as a part of a stream.
package struct RecordedPart: Sendable, Hashable {
  package var key: CacheKey
  package var url: URL
  /// The key of the first manifest of its stream.
  package var stream: CacheKey
  /// Whether it is a playlist or an MPD.
  package var isManifest: Bool
  /// When it was used last, in seconds since 1970.
  package var lastAccess: Double
}

extension MediaCache {
  /// Returns the entries that are recorded as parts of streams, without pinned ones, and without
  /// small ones that are no manifests: keys and initializations, which free next to nothing.
  ///
  /// Reads every record, on threads of `IOThreads.background`.
  ///
  /// - Parameters:
  ///   - streams: the keys of first manifests.
  ///   - count: about how many parts to return; of more, any.
  /// - Returns: the least recently used first.
  /// - Throws: `DiskError`; `CancellationError`.
  package func recordedParts(
    of streams: Set<CacheKey>, atMost count: Int
  ) async throws -> [RecordedPart] {
    let budget = context.budget
    // Entries are spread over 256 shards by the hashes of their keys.
    let most = max(count / 64, 16)
    let shards = try await Sweep(budget: budget).run { names, _ in
      var parts: [RecordedPart] = []
      for name in names where parts.count < most {
        try Task.checkCancellation()
        if let part = budget.recordedPart(name, of: streams) { parts.append(part) }
      }
      return parts
    }
    let parts = shards.flatMap(\.self).sorted {
      ($0.lastAccess, $0.key.rawValue) < ($1.lastAccess, $1.key.rawValue)
    }
    return Array(parts.prefix(count))
  }
}

extension DiskBudget {
  /// The length of smaller entries, in bytes.
  private static let leastLength: Int64 = 4096

  /// Nil if the entry cannot be read. Blocks.
  fileprivate func recordedPart(_ name: String, of streams: Set<CacheKey>) -> RecordedPart? {
    guard let record = try? entryDirectory(named: name).loadRecord().record,
      let stream = record.stream.map({ CacheKey(rawValue: $0) }), streams.contains(stream),
      stream.rawValue != record.key, let url = URL(string: record.url)
    else { return nil }
    let isManifest =
      record.freshness.pace != nil || Manifest.isNamed(mimeType: record.mimeType, url: url)
    guard isManifest || record.length ?? .max >= Self.leastLength,
      let entry = try? measure(name), isManifest || entry.pinnedBytes == nil
    else { return nil }
    return RecordedPart(
      key: CacheKey(rawValue: record.key), url: url, stream: stream, isManifest: isManifest,
      lastAccess: Eviction.timeOfUse(entry.lastAccess))
  }
}
