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
  /// - Throws: `MediaCacheError`, if the resource cannot be read, or is a damaged manifest;
  ///   `CancellationError`.
  func kind(of resource: Resource) async throws -> StreamKind? {
    let reader = try await cache.open(resource, fill: .onDemand)
    var body: [UInt8] = []
    var kind: StreamKind?
    defer {
      if kind == nil { reader.cancel() } else { cache.keepForOthers(reader) }
    }
    // To its end: the engine needs all of it.
    for try await chunk in reader.chunks(in: 0..<Manifest.longest) {
      let isRead = body.count >= StreamKind.length
      body += chunk
      guard !isRead else { continue }
      kind = StreamKind(beginning: body)
      if kind == nil, body.count >= StreamKind.length { return nil }
    }
    // No engine plays a damaged one, and what it reports would not name the reason.
    let manifest = body
    if let flaw = await IOThreads.background.run({ ManifestFlaw(manifest) }) {
      throw flaw.error(at: resource.url)
    }
    return kind
  }

  /// Returns the kind of stream that a stored resource is; nil: none. Makes no request.
  func storedKind(of resource: Resource) async -> StreamKind? {
    let manifest = await cache.storedManifest(for: cache.entryKey(for: resource))
    return manifest.flatMap { StreamKind(beginning: Data($0.body.prefix(StreamKind.length))) }
  }
}
