// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// While the cache is offline, what is stored of a stream decides where a choice is open.
extension StreamDownload {
  /// Returns the stream, while the cache is offline without the qualities and the sound that are
  /// not stored, as far as the choice names none. If nothing is stored of them, all of them remain.
  ///
  /// - Throws: `CancellationError`; `MediaCacheError`.
  func storedPart(
    of source: StreamSource, _ choice: StreamChoice
  ) async throws -> StreamSource {
    guard cache.isOffline, choice.quality == .standard || choice.audio == .standard,
      let body = try await StoredVariants(cache: cache, url: source.url).filtered(source.body),
      let stored = try await StreamSource(StoredManifest(body: body, url: source.url))
    else { return source }
    var source = source
    switch (source.content, stored.content) {
    case (.multivariant(let all), .multivariant(let stored)):
      source.content = .multivariant(Self.reduced(all, to: stored, choice))
    case (.presentation(let all), .presentation(let stored)):
      source.content = .presentation(Self.reduced(all, to: stored, choice))
    default: break
    }
    return source
  }

  private static func reduced(
    _ all: HLSMultivariantPlaylist, to stored: HLSMultivariantPlaylist, _ choice: StreamChoice
  ) -> HLSMultivariantPlaylist {
    var reduced = all
    if choice.quality == .standard {
      let uris = Set(stored.variants.map(\.uri))
      let variants = all.variants.filter { uris.contains($0.uri) }
      if !variants.isEmpty { reduced.variants = variants }
    }
    if choice.audio == .standard {
      let sounds = stored.renditions.filter { $0.type == .audio }
      let groups = Set(sounds.map(\.groupID))
      reduced.renditions.removeAll { rendition in
        rendition.type == .audio && groups.contains(rendition.groupID)
          && !sounds.contains { sound in
            (sound.groupID, sound.name, sound.language, sound.uri)
              == (rendition.groupID, rendition.name, rendition.language, rendition.uri)
          }
      }
    }
    return reduced
  }

  private static func reduced(
    _ all: DASHPresentation, to stored: DASHPresentation, _ choice: StreamChoice
  ) -> DASHPresentation {
    guard all.periods.count == stored.periods.count else { return all }
    var reduced = all
    for (index, period) in stored.periods.enumerated() {
      var open: [DASHPresentation.MediaKind] = []
      if choice.quality == .standard { open.append(.video) }
      if choice.audio == .standard { open.append(.audio) }
      for kind in open {
        let sets = period.sets.filter { $0.kind == kind }
        guard !sets.isEmpty else { continue }
        reduced.periods[index].sets.removeAll { $0.kind == kind }
        reduced.periods[index].sets += sets
      }
    }
    return reduced
  }
}
