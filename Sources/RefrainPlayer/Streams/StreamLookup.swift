// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

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
  /// - Parameter isRetried: whether an engine could not open the stream a moment ago, so that its
  ///   stored playlists are looked at too.
  /// - Throws: `MediaCacheError`, if the resource cannot be read, is a damaged manifest, or is a
  ///   playlist that leads back to itself; `CancellationError`.
  func kind(of resource: Resource, isRetried: Bool = false) async throws -> StreamKind? {
    let reader = try await cache.open(cache.possibleStream(resource), fill: .onDemand)
    var body: [UInt8] = []
    var kind: StreamKind?
    defer {
      if kind == nil { reader.cancel() } else { cache.keepForOthers(reader) }
    }
    // To its end: the engine needs all of it.
    for try await chunk in reader.chunks(in: 0..<Manifest.longest) {
      let isKnown = body.count >= StreamKind.length
      body += chunk
      guard !isKnown else { continue }
      kind = StreamKind(beginning: body)
      if kind == nil, body.count >= StreamKind.length { return nil }
    }
    // No engine plays a damaged one, and what it reports would not name the reason.
    let manifest = body
    if let flaw = await IOThreads.background.run({ ManifestFlaw(manifest) }) {
      throw flaw.error(at: resource.url)
    }
    if kind == .hls {
      let url = try await reader.contentInformation().finalURL
      try await check(StoredManifest(body: body, url: url), of: resource, isRetried: isRetried)
    }
    return kind
  }

  /// Returns the kind of stream that a stored resource is; nil: none. Makes no request.
  ///
  /// - Throws: `MediaCacheError`, if it is a playlist that leads back to itself.
  func storedKind(of resource: Resource, isRetried: Bool = false) async throws -> StreamKind? {
    let manifest = await cache.storedManifest(for: cache.entryKey(for: resource))
    guard let manifest, let kind = StreamKind(beginning: manifest.body) else { return nil }
    if kind == .hls { try await check(manifest, of: resource, isRetried: isRetried) }
    return kind
  }

  private func check(
    _ manifest: StoredManifest, of resource: Resource, isRetried: Bool
  ) async throws(MediaCacheError) {
    let loop = VariantLoop(cache: isRetried ? cache : nil)
    guard let url = await loop.find(in: manifest, at: resource.url) else { return }
    throw StreamDownload.noPlaylist(url)
  }
}
