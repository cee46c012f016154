// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import RefrainStreams

/// Fetches an HLS stream ahead: the playlists that will play, and their first segments or all of
/// them. Of a live stream, only the playlists.
struct StreamOpening: Sendable {
  let cache: MediaCache
  /// The manifest, which is stored.
  let resource: Resource
  let variant: PreferredVariant

  /// - Parameter limit: the number of bytes of segments to fetch; nil: all.
  /// - Throws: `MediaCacheError`; `CancellationError`.
  func run(limit: Int64?) async throws {
    let download = StreamDownload(resource, into: cache)
    var plans: [StreamPlan] = []
    for (playlist, url) in try await playlists(download) where !playlist.isLive {
      var plan = StreamPlan()
      plan.append(playlist, at: url)
      plans.append(plan)
    }
    var rest = limit ?? .max
    for part in Self.inTime(plans) where rest > 0 {
      rest -= try await fetch(part, download, atMost: rest)
    }
  }

  // MARK: Playlists

  private func playlists(
    _ download: StreamDownload
  ) async throws -> [(HLSMediaPlaylist, URL)] {
    guard let first = try await firstManifest(download) else { return [] }
    if let playlist = HLSMediaPlaylist(first.body, url: first.url) {
      return [(playlist, first.url)]
    }
    guard let manifest = HLSMultivariantPlaylist(first.body, url: first.url) else { return [] }
    var found: [(HLSMediaPlaylist, URL)] = []
    for reference in references(of: manifest) {
      guard let url = URL(text: reference, relativeTo: first.url),
        let stored = try await fetch(download.resource(at: url), download),
        let playlist = HLSMediaPlaylist(
          stored.body, url: stored.url, imported: manifest.variables)
      else { continue }
      found.append((playlist, stored.url))
    }
    return found
  }

  private func references(of manifest: HLSMultivariantPlaylist) -> [String] {
    let variants = manifest.variants
    let chosen =
      switch variant {
      case .first: variants.first
      case .near(let rate):
        variants.filter { $0.bandwidth <= rate }.max { $0.bandwidth < $1.bandwidth }
          ?? variants.min { $0.bandwidth < $1.bandwidth }
      case .soundOfHighest: variants.max { $0.bandwidth < $1.bandwidth }
      }
    guard let chosen else { return [] }
    let sound = manifest.sounds(of: chosen).first?.uri
    if variant == .soundOfHighest, let sound { return [sound] }
    return [chosen.uri] + (sound.map { [$0] } ?? [])
  }

  /// Returns the stream's manifest, of which at least the beginning was fetched just now.
  private func firstManifest(_ download: StreamDownload) async throws -> StoredManifest? {
    if let stored = await cache.storedManifest(for: cache.storedKey(for: resource)) {
      try await fetchRedirected(stored, resource, download)
      return stored
    }
    return try await fetch(resource, download)
  }

  private func fetch(
    _ resource: Resource, _ download: StreamDownload
  ) async throws -> StoredManifest? {
    guard try await cache.prefetch(resource).length ?? 0 <= Manifest.longest,
      let stored = await cache.storedManifest(for: cache.storedKey(for: resource))
    else { return nil }
    try await fetchRedirected(stored, resource, download)
    return stored
  }

  /// Fetches a manifest also under its URL after redirects, to which proxies redirect engines.
  private func fetchRedirected(
    _ stored: StoredManifest, _ resource: Resource, _ download: StreamDownload
  ) async throws {
    if cache.isNeeded(at: stored.url, besides: resource.url) {
      try await cache.prefetch(download.resource(at: stored.url))
    }
  }

  // MARK: Segments

  /// Returns the parts in the order in which they play.
  private static func inTime(_ plans: [StreamPlan]) -> [StreamPlan.Part] {
    let timed = plans.flatMap { plan in
      var time = 0.0
      return plan.parts.map { part in
        defer { time += part.seconds }
        return (time: time, part: part)
      }
    }
    let order = timed.indices.sorted { (timed[$0].time, $0) < (timed[$1].time, $1) }
    return order.map { timed[$0].part }
  }

  /// Fetches a part, unless it is stored. Returns the number of its bytes, at most the limit.
  private func fetch(
    _ part: StreamPlan.Part, _ download: StreamDownload, atMost limit: Int64
  ) async throws -> Int64 {
    let resource = download.resource(at: part.url, isKey: part.isKey)
    let start = part.range?.lowerBound ?? 0
    let end = min(part.range?.upperBound ?? .max, start > .max - limit ? .max : start + limit)
    let stored = try await cache.progress(of: resource)
    var length = stored.length
    let isStored =
      stored.isComplete
      || stored.spans.ranges.contains { $0.lowerBound <= start && end <= $0.upperBound }
    // Segments do not change under their URLs (RFC 8216 §6.2.1): stored ones are not confirmed.
    if !isStored { length = try await cache.prefetch(resource, range: start..<end).length }
    return max(0, min(end, length ?? end) - start)
  }
}
