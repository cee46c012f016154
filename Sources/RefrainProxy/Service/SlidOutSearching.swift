// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Finds the stored parts of live streams that no playlist names any more.
struct SlidOutSearching: Sendable {
  let cache: MediaCache
  /// Whether a version of a playlist is known, which counts in place of the stored one.
  let isKnown: @Sendable (CacheKey) -> Bool

  private static let mostParts = 16_384

  /// Reads every record, and the stored playlists of the streams.
  ///
  /// - Returns: the parts to give up for each search, the least recently used first, without those
  ///   that a stored playlist names; nil for a stream of which a playlist cannot be read now.
  /// - Throws: `CancellationError`, or an error of the disk.
  func parts(of searches: [SlidOutSearches.Search]) async throws -> [[CacheKey]?] {
    let streams = searches.reduce(into: Set<CacheKey>()) { $0.formUnion($1.streams) }
    let parts = try await cache.recordedParts(of: streams, atMost: Self.mostParts)
    var named: Set<CacheKey> = []
    var unknown: Set<CacheKey> = []
    for part in parts where part.isManifest && !unknown.contains(part.stream) {
      try Task.checkCancellation()
      if isKnown(CacheKey(rawValue: part.url.textWithoutDeliveryDirectives)) { continue }
      if let keys = await resources(namedBy: part.key, at: part.url) {
        named.formUnion(keys)
      } else {
        unknown.insert(part.stream)
      }
    }
    return searches.map { search in
      guard search.streams.isDisjoint(with: unknown) else { return nil }
      return parts.filter {
        !$0.isManifest && search.streams.contains($0.stream) && !named.contains($0.key)
      }
      .map(\.key)
    }
  }

  /// Returns what a stored manifest names, without playlists; nil if that is not known.
  private func resources(namedBy key: CacheKey, at url: URL) async -> [CacheKey]? {
    guard let manifest = await cache.storedManifest(for: key) else { return nil }
    let time = cache.now.wall.timeIntervalSince1970
    return await IOThreads.background.run { [cache] () -> [CacheKey]? in
      // Variables that a multivariant playlist defines are unknown.
      if Self.hasVariables(manifest.body) { return nil }
      let version = SlidOutSegments.Version(
        reading: manifest.body, url: manifest.url, requested: url, of: key, imported: [:], at: time,
        key: { cache.key(for: Resource(url: $0)) })
      guard let version else {
        // A multivariant playlist names no segments.
        return HLSMultivariantPlaylist(manifest.body, url: manifest.url) == nil ? nil : []
      }
      if version.resources.isEmpty, version.keepsAll { return nil }
      return version.resources.map(\.key) + version.others
    }
  }

  private static func hasVariables(_ body: [UInt8]) -> Bool {
    body.indices.dropLast().contains {
      body[$0] == UInt8(ascii: "{") && body[$0 + 1] == UInt8(ascii: "$")
    }
  }
}
