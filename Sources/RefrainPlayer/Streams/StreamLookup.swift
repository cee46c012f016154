// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Determines whether media is a stream. A manifest's bytes come through the cache and stay in it,
/// so the engine's request for them fetches nothing again.
struct StreamLookup: Sendable {
  let cache: MediaCache

  /// Returns whether the URL has the extension of a manifest: only such media is looked up before
  /// it plays.
  static func isNamed(_ media: Media) -> Bool {
    media.resource.map { Manifest.isNamed(mimeType: nil, url: $0.url) } ?? false
  }

  /// Returns the kind of stream that the resource is; nil: none.
  ///
  /// - Throws: `MediaCacheError`, if the resource cannot be read; `CancellationError`.
  func kind(of resource: Resource) async throws -> StreamKind? {
    let reader = try await cache.open(resource, fill: .onDemand)
    var kind: StreamKind?
    defer {
      if kind == nil { reader.cancel() } else { cache.keepForOthers(reader) }
    }
    var beginning = Data()
    // To its end: the engine needs all of it.
    for try await chunk in reader.chunks(in: 0..<Manifest.longest) {
      guard beginning.count < StreamKind.length else { continue }
      beginning += chunk
      kind = StreamKind(beginning: beginning)
      if kind == nil, beginning.count >= StreamKind.length { return nil }
    }
    return kind
  }

  /// Returns the kind of stream that a stored resource is; nil: none. Makes no request.
  func storedKind(of resource: Resource) async -> StreamKind? {
    let manifest = await cache.storedManifest(for: cache.entryKey(for: resource))
    return manifest.flatMap { StreamKind(beginning: Data($0.body.prefix(StreamKind.length))) }
  }
}
