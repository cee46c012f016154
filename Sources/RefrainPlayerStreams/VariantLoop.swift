// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Finds a multivariant playlist that leads back to itself through its variants and renditions:
/// ffmpeg's demuxer, which libmpv uses, would open them for ever. Makes no request.
struct VariantLoop: Sendable {
  /// In which further playlists are looked up; nil: only the first one is looked at.
  let cache: MediaCache?

  /// The number of further playlists to look up.
  private static let mostLookups = 64

  /// Returns the URL of a playlist that is named on the way from itself; nil: none is known.
  ///
  /// - Parameter url: the URL of the manifest before redirects.
  func find(in manifest: StoredManifest, at url: URL) async -> URL? {
    var lookups = Self.mostLookups
    var known: Set<URL> = []
    return await find(in: manifest, [url, manifest.url], &known, &lookups)
  }

  /// - Parameters:
  ///   - way: the URLs of the playlists that lead to this one, and its own.
  ///   - known: the playlists that lead nowhere.
  private func find(
    in manifest: StoredManifest, _ way: Set<URL>, _ known: inout Set<URL>, _ lookups: inout Int
  ) async -> URL? {
    let named = await Self.playlists(of: manifest)
    if let own = named.first(where: { way.contains($0) }) { return own }
    guard let cache else { return nil }
    for url in named where known.insert(url).inserted && lookups > 0 {
      lookups -= 1
      guard let next = await cache.storedManifest(at: url) else { continue }
      let way = way.union([url, next.url])
      if let found = await find(in: next, way, &known, &lookups) { return found }
    }
    return nil
  }

  /// Returns the variants and renditions of a manifest; none if it is no multivariant playlist.
  private static func playlists(of manifest: StoredManifest) async -> [URL] {
    guard Manifest.mayTakeLong(manifest.body) else { return Self.resolved(manifest) }
    return await IOThreads.background.run { Self.resolved(manifest) }
  }

  private static func resolved(_ manifest: StoredManifest) -> [URL] {
    guard let playlist = HLSMultivariantPlaylist(manifest.body, url: manifest.url) else {
      return []
    }
    let references = playlist.variants.map(\.uri) + playlist.renditions.compactMap(\.uri)
    return references.prefix(StreamMap.mostChoices).compactMap {
      URL(text: $0, relativeTo: manifest.url)
    }
  }
}
