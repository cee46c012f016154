// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain
public import RefrainPlayer
import RefrainStreams

extension PlayerStreams {
  /// Creates the support for streams that an engine plays from a local proxy over the player's
  /// cache, such as `CacheProxy` of RefrainProxy.
  ///
  /// - Parameter url: returns the proxy's URL for a stream. Called on any thread, each time that a
  ///   stream is loaded or prepared; an error fails the item.
  public init(url: @escaping @Sendable (_ stream: Resource) async throws -> URL) {
    self.init(CachedStreams(url: url))
  }
}

/// Streams that play through the cache.
struct CachedStreams: StreamSupport {
  let url: @Sendable (Resource) async throws -> URL

  func url(for stream: Resource) async throws -> URL { try await url(stream) }

  func kind(
    of resource: Resource, in cache: MediaCache, isRetried: Bool
  ) async throws -> StreamKind? {
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
      try await check(StoredManifest(body: body, url: url), of: resource, isRetried ? cache : nil)
    }
    return kind
  }

  func storedKind(
    of resource: Resource, in cache: MediaCache, isRetried: Bool
  ) async throws -> StreamKind? {
    let manifest = await cache.storedManifest(for: cache.key(for: resource))
    guard let manifest, let kind = StreamKind(beginning: manifest.body) else { return nil }
    if kind == .hls { try await check(manifest, of: resource, isRetried ? cache : nil) }
    return kind
  }

  /// - Parameter cache: in which further playlists are looked up; nil: they are not.
  private func check(
    _ manifest: StoredManifest, of resource: Resource, _ cache: MediaCache?
  ) async throws(MediaCacheError) {
    let loop = VariantLoop(cache: cache)
    guard let url = await loop.find(in: manifest, at: resource.url) else { return }
    throw StreamDownload.noPlaylist(url)
  }

  func prefetch(
    _ resource: Resource, _ variant: PreferredVariant, limit: Int64?, into cache: MediaCache
  ) async throws {
    let information = try await cache.prefetch(
      cache.possibleStream(resource), range: limit.map { 0..<$0 })
    var stream = resource
    // Playlists and segments have no titles.
    stream.headers["Icy-MetaData"] = nil
    guard await StreamDownload(stream, into: cache).mayBeStream(information) else { return }
    try await StreamOpening(cache: cache, resource: stream, variant: variant).run(limit: limit)
  }

  func follow(
    _ stream: Resource, in cache: MediaCache, isSoundOnly: Bool,
    report: @escaping @MainActor (StreamProgress?) -> Void
  ) -> any StreamFollowing {
    StreamFollower(of: stream, in: cache, isSoundOnly: isSoundOnly, report: report)
  }
}
