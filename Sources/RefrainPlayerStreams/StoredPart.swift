// SPDX-License-Identifier: MIT
import Foundation
package import Refrain
import RefrainPlayer
import RefrainStreams

/// Looks up how much of an item is stored, whether it is a file or a stream. Makes no request.
package struct StoredPart: Sendable {
  package enum Answer: Sendable, Hashable {
    /// 0…1. Of a stream, the part of its playing time.
    case known(Double)
    case unknown
    /// The item is a stream, which was not to be looked up.
    case unchanged
  }

  let cache: MediaCache
  let isSoundOnly: Bool

  /// - Parameter isSoundOnly: whether the player plays no pictures, so that those of a stream do not
  ///   count.
  package init(cache: MediaCache, isSoundOnly: Bool) {
    self.cache = cache
    self.isSoundOnly = isSoundOnly
  }

  /// - Parameters:
  ///   - resource: the item, or the stream's manifest.
  ///   - withStream: whether to look up the segments of a stream.
  /// - Throws: `MediaCacheError`, `.storage` if the directory cannot be read; `CancellationError`.
  package func fraction(of resource: Resource, withStream: Bool) async throws -> Answer {
    let key = await cache.storedKey(for: resource)
    let progress = try await cache.progress(of: key)
    guard let fraction = progress.fraction else { return .unknown }
    guard progress.isComplete, (progress.length ?? 0) <= Manifest.longest,
      await isManifest(key, resource)
    else { return .known(fraction) }
    guard withStream else { return .unchanged }
    return try await streamFraction(of: resource).map(Answer.known) ?? .unknown
  }

  private func isManifest(_ key: CacheKey, _ resource: Resource) async -> Bool {
    if !Manifest.isNamed(mimeType: nil, url: resource.url) {
      // An entry that cannot be read is no manifest.
      let summary = try? await cache.entry(for: key)
      guard let summary, Manifest.isNamed(mimeType: summary.mimeType, url: summary.url) else {
        return false
      }
    }
    guard let manifest = await cache.storedManifest(for: cache.key(for: resource)),
      StreamKind(beginning: manifest.body) != nil
    else { return false }
    // Nothing plays of a playlist that leads back to itself.
    return await VariantLoop(cache: nil).find(in: manifest, at: resource.url) == nil
  }

  /// Nil for a live stream, and for one without stored playlists.
  private func streamFraction(of resource: Resource) async throws -> Double? {
    let known = StreamFollower.Known()
    try await StreamReading(cache: cache, resource: resource, isSoundOnly: isSoundOnly)
      .update(known)
    return known.look { $0.progress?.fraction } ?? nil
  }
}
