// SPDX-License-Identifier: MIT
import Foundation
package import Refrain

/// How much of a stream is stored, by its stored manifests.
package struct StreamCompleteness: Sendable, Hashable {
  /// Whether a quality is stored as a whole, with its sound, and nothing in part. A quality of which
  /// no segment is stored does not count.
  package var isComplete: Bool
  /// The playing time of which segments are stored, in seconds: of the quality with the most.
  package var seconds: Double
}

extension MediaCache {
  /// The most playlists of a stream to read.
  private static let mostPlaylists = 256

  /// Returns how much of a stream is stored; nil if that is unknown: the stream is live, or the first
  /// manifest or every playlist with segments is missing, or does not describe the segments. Makes
  /// no request.
  ///
  /// - Parameter key: of the first manifest.
  /// - Throws: `CancellationError`.
  package func completeness(ofStream key: CacheKey) async throws -> StreamCompleteness? {
    guard let manifest = await storedManifest(for: key),
      // A damaged manifest describes nothing.
      let source = try? await StreamSource(manifest)
    else { return nil }
    // A long manifest takes seconds.
    return try await withTaskExecutorPreference(IOThreads.background) {
      switch source.content {
      case .media(let playlist):
        guard let share = try await timedShare(of: playlist, at: source.url) else { return nil }
        return StreamCompleteness(isComplete: share.share.isWhole, seconds: share.seconds)
      case .multivariant(let playlist):
        return try await completeness(of: playlist, at: source.url)
      case .presentation(let presentation): return try await completeness(of: presentation)
      }
    }
  }

  private typealias TimedShare = (share: StoredShare, seconds: Double)

  /// Nil if the playlist is live or has no segments.
  private func timedShare(
    of playlist: HLSMediaPlaylist, at url: URL
  ) async throws -> TimedShare? {
    guard !playlist.isLive else { return nil }
    var plan = StreamPlan()
    plan.append(playlist, at: url)
    return try await timedShare(of: plan)
  }

  private func timedShare(of plan: StreamPlan) async throws -> TimedShare? {
    guard !plan.parts.isEmpty else { return nil }
    let share = try await storedShare(of: plan)
    return (share, share.fraction * plan.seconds)
  }

  private func completeness(
    of playlist: HLSMultivariantPlaylist, at base: URL
  ) async throws -> StreamCompleteness? {
    let references = Set(playlist.variants.map(\.uri) + playlist.renditions.compactMap(\.uri))
    guard references.count <= Self.mostPlaylists else { return nil }
    var shares: [String: StoredShare] = [:]
    var seconds = 0.0
    for reference in references {
      try Task.checkCancellation()
      guard let url = URL(text: reference, relativeTo: base), WebURL(url.absoluteString) != nil,
        let stored = await storedManifest(at: url)
      else { continue }
      guard
        let media = HLSMediaPlaylist(stored.body, url: stored.url, imported: playlist.variables),
        let found = try await timedShare(of: media, at: stored.url)
      else { return nil }
      shares[reference] = found.share
      seconds.formMax(found.seconds)
    }
    guard !shares.isEmpty else { return nil }
    let isPartial = shares.values.contains { !$0.isWhole && $0.fraction > 0 }
    return StreamCompleteness(
      isComplete: !isPartial && playlist.hasWhole(shares), seconds: seconds)
  }

  private func completeness(
    of presentation: DASHPresentation
  ) async throws -> StreamCompleteness? {
    guard !presentation.isDynamic else { return nil }
    var allowance = DASHPresentation.Allowance()
    var whole = StreamCompleteness(isComplete: true, seconds: 0)
    var isKnown = false
    for period in presentation.periods {
      var best: [DASHPresentation.MediaKind: Bool] = [:]
      var seconds = 0.0
      for set in period.sets where !set.isTrickPlay {
        for representation in set.representations {
          try Task.checkCancellation()
          var plan = StreamPlan()
          do {
            try plan.append([representation], duration: period.duration, &allowance)
          } catch {
            return nil
          }
          guard let found = try await timedShare(of: plan) else { continue }
          if !found.share.isWhole, found.share.fraction > 0 { whole.isComplete = false }
          best[set.kind] = best[set.kind] ?? false || found.share.isWhole
          seconds.formMax(found.seconds)
        }
      }
      if best[.video] == false || best[.audio] == false { whole.isComplete = false }
      whole.seconds += seconds
      isKnown = isKnown || !best.isEmpty
    }
    return isKnown ? whole : nil
  }
}

extension HLSMultivariantPlaylist {
  /// Whether a variant is stored as a whole, with its sound; of a stream of which sound alone is
  /// stored, a rendition.
  fileprivate func hasWhole(_ shares: [String: StoredShare]) -> Bool {
    func isWhole(_ uri: String) -> Bool { shares[uri]?.isWhole == true }
    guard variants.contains(where: { shares[$0.uri] != nil }) else {
      return shares.values.contains(where: \.isWhole)
    }
    return variants.contains { variant in
      guard isWhole(variant.uri) else { return false }
      guard let group = variant.audioGroup else { return true }
      let sounds = renditions.filter { $0.type == .audio && $0.groupID == group }
      // A rendition without a URL is part of the variants' own media.
      return sounds.isEmpty || sounds.contains { $0.uri.map(isWhole) ?? true }
    }
  }
}
