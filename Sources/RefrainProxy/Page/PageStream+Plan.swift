// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// What the stored playlists of a stream name, without a look at what is stored of it.
extension PageStream {
  /// Reads the stored playlists. Long ones take seconds: call it on `IOThreads.background`.
  ///
  /// - Parameter key: of the first manifest.
  /// - Returns: a plan whose parts are unknown if no playlist of a variant is stored, or the stream
  ///   is live.
  /// - Throws: `CancellationError`.
  func plan(of key: CacheKey) async throws -> PagePlan {
    var plan = PagePlan(manifests: [key])
    guard let manifest = await cache.storedManifest(for: key),
      // An MPD that does not describe the stream itself names no segments.
      let source = try? await StreamSource(manifest)
    else { return plan }
    switch source.content {
    case .media(let playlist): plan.append([parts(of: playlist, at: source.url)])
    case .multivariant(let playlist):
      try await add(playlist.variants.map(\.uri), of: playlist, at: source.url, to: &plan)
      // Of a stream of sound alone, the variants may not be stored.
      guard !plan.isKnown else { break }
      try await add(playlist.renditions.compactMap(\.uri), of: playlist, at: source.url, to: &plan)
    case .presentation(let presentation): return try self.plan(presentation, plan)
    }
    return plan
  }

  private func add(
    _ references: [String], of playlist: HLSMultivariantPlaylist, at base: URL,
    to plan: inout PagePlan
  ) async throws {
    var known: Set<String> = []
    var variants: [[PagePlan.Part]] = []
    for reference in references where known.insert(reference).inserted {
      guard variants.count < Self.mostVariants else { break }
      try Task.checkCancellation()
      guard let url = URL(text: reference, relativeTo: base) else { continue }
      plan.manifests += cache.possibleKeys(for: Resource(url: url))
      guard let stored = await cache.storedManifest(at: url),
        let media = HLSMediaPlaylist(stored.body, url: stored.url, imported: playlist.variables)
      else { continue }
      variants.append(parts(of: media, at: stored.url))
    }
    plan.append(variants)
  }

  /// Returns no parts of a live stream.
  private func parts(of playlist: HLSMediaPlaylist, at url: URL) -> [PagePlan.Part] {
    guard !playlist.isLive else { return [] }
    var plan = StreamPlan()
    plan.append(playlist, at: url)
    return parts(of: plan)
  }

  private func plan(_ presentation: DASHPresentation, _ empty: PagePlan) throws -> PagePlan {
    guard !presentation.isDynamic else { return empty }
    var plan = empty
    var allowance = DASHPresentation.Allowance(segments: Int64(PagePlan.mostParts))
    for period in presentation.periods {
      let sets = period.sets.filter { !$0.isTrickPlay }
      let main = [DASHPresentation.MediaKind.video, .audio].lazy
        .map { kind in sets.filter { $0.kind == kind } }
        .first { !$0.isEmpty }
      var variants: [[PagePlan.Part]] = []
      for representation in (main ?? sets).flatMap(\.representations) {
        try Task.checkCancellation()
        var own = StreamPlan()
        do {
          try own.append([representation], duration: period.duration, &allowance)
        } catch {
          // The strip would end before the stream does.
          if error == .isTooLarge, variants.isEmpty { return empty }
          if error == .isTooLarge { break }
          continue
        }
        variants.append(parts(of: own))
      }
      plan.append(variants)
    }
    return plan
  }

  private func parts(of plan: StreamPlan) -> [PagePlan.Part] {
    plan.parts.map { part in
      PagePlan.Part(keys: cache.possibleKeys(for: Resource(url: part.url)), range: part.range)
    }
  }
}
