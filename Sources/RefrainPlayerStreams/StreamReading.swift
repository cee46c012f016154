// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Reads a stored stream's playlists, and looks up the segments. Makes no request.
struct StreamReading: Sendable {
  let cache: MediaCache
  /// The stream's manifest.
  let resource: Resource
  let isSoundOnly: Bool

  /// The number of segments that show about how much of a playlist is stored.
  private static let sampleSize = 24

  /// Brings what is known of the stream up to date.
  ///
  /// - Throws: `CancellationError`.
  func update(_ known: StreamFollower.Known) async throws {
    if known.map == nil {
      guard let map = await map() else { return }
      known.begin(with: map)
    }
    for index in known.change({ $0.unread }) ?? [] {
      guard let (found, variables) = known.look({ ($0.playlists[index].url, $0.variables) }),
        let url = found
      else { continue }
      let manifest = await cache.storedManifest(for: cache.key(for: Resource(url: url)))
      try Task.checkCancellation()
      // Not within the lock: a playlist may have ten thousand segments.
      let playlist = manifest.flatMap {
        StoredPlaylist($0.body, at: $0.url, variables: variables, key: key(for:))
      }
      known.change { $0.read(index, playlist, answered: manifest?.answered) }
    }
    let unindexed: [(index: Int, file: StreamMap.UnindexedFile)]? = known.look { $0.unindexed }
    for (index, file) in unindexed ?? [] {
      guard let range = file.index.range,
        let stored = await cache.storedBody(
          for: key(for: file.index.url), in: range, longest: Manifest.longest)
      else { continue }
      try Task.checkCancellation()
      let segments = SegmentIndex(stored.body, at: range.lowerBound)
      let indexed = segments.flatMap { timeline(of: file, $0) }
      known.change { $0.read(index, indexed: indexed) }
    }
    for index in known.change({ $0.unsampled }) ?? [] {
      guard let timeline = known.map?.playlists[index].timeline else { continue }
      let share = try await share(of: timeline)
      known.change { $0.noteShare(share, of: index) }
    }
    // Before the stored amounts: no segment is missing from both.
    for changed in known.change({ $0.takeChangedFetches() }) ?? [] {
      guard let timeline = known.map?.playlists[changed.playlist].timeline else { continue }
      let fetching = changed.resources.map { cache.fetchingRanges(of: timeline.keys[$0]) }
      known.change {
        for (resource, ranges) in zip(changed.resources, fetching) {
          $0.note(fetching: ranges, of: resource, in: changed.playlist)
        }
      }
    }
    for changed in known.change({ $0.takeChanged() }) ?? [] {
      guard let timeline = known.map?.playlists[changed.playlist].timeline else { continue }
      let progress = try await progress(of: changed.resources, in: timeline)
      known.change { $0.note(progress, of: changed.resources, in: changed.playlist) }
    }
  }

  /// Nil while the manifest is not stored, and for one that does not say which segments there are.
  private func map() async -> StreamMap? {
    let manifest = await cache.storedManifest(for: cache.storedKey(for: resource))
    return manifest.flatMap {
      StreamMap($0.body, at: $0.url, isSoundOnly: isSoundOnly, key: key(for:))
        ?? StreamMap(presentation: $0.body, at: $0.url, isSoundOnly: isSoundOnly, key: key(for:))
    }
  }

  private func timeline(
    of file: StreamMap.UnindexedFile, _ index: SegmentIndex
  ) -> StreamTimeline? {
    var allowance = DASHPresentation.Allowance()
    let parts = try? file.representation.timedParts(duration: nil, index: index, &allowance)
    return parts.map { StreamTimeline($0, key: key(for:)) }
  }

  private func key(for url: URL) -> CacheKey { cache.key(for: Resource(url: url)) }

  /// Returns how much of resources is stored, in their order: of those used in parts, the parts
  /// that are stored completely.
  private func progress(
    of resources: [Int], in timeline: StreamTimeline
  ) async throws -> [CacheProgress] {
    let parts = timeline.parts(of: resources)
    let amounts = try await cache.storedAmounts(
      of: parts.map { StreamPlan.Part(url: timeline.urls[$0.resource], range: $0.range) })
    var found: [Int: CacheProgress] = [:]
    for (part, amount) in zip(parts, amounts) {
      var progress = found[part.resource] ?? CacheProgress(length: nil, spans: RangeSet())
      if part.range == nil { progress.length = amount.total }
      let range = part.range ?? 0..<amount.bytes
      if amount.bytes >= range.upperBound - range.lowerBound {
        progress.spans.insert(contentsOf: range)
      }
      found[part.resource] = progress
    }
    return resources.map { found[$0] ?? CacheProgress(length: nil, spans: RangeSet()) }
  }

  /// Returns about how much of a playlist is stored, 0…1.
  private func share(of timeline: StreamTimeline) async throws -> Double {
    let sample = timeline.sample(Self.sampleSize)
    guard !sample.isEmpty else { return 0 }
    let stored = try await progress(of: sample, in: timeline).count { !$0.spans.isEmpty }
    return Double(stored) / Double(sample.count)
  }
}
