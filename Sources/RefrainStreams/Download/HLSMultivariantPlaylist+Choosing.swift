// SPDX-License-Identifier: MIT
package import Refrain

extension HLSMultivariantPlaylist {
  /// Returns the variant of this quality.
  ///
  /// - Throws: `MediaCacheError`, if there is no variant, or none states its height.
  package func variant(of quality: StreamChoice.Quality) throws(MediaCacheError) -> Variant {
    try quality.choose(among: variants)
  }

  /// Returns the renditions of a variant in these languages, also those that are part of the
  /// variant's own media.
  ///
  /// - Throws: `MediaCacheError`, if the stream has no rendition in a language.
  package func renditions(
    of variant: Variant, _ choice: StreamChoice
  ) throws(MediaCacheError) -> [Rendition] {
    try renditions(.audio, of: variant, choice.audio)
      + renditions(.video, of: variant, .standard)
      + renditions(.subtitles, of: variant, choice.subtitles)
  }

  private func renditions(
    _ type: Rendition.MediaType, of variant: Variant, _ languages: StreamChoice.Languages
  ) throws(MediaCacheError) -> [Rendition] {
    try languages.choose(
      among: renditions.filter { $0.type == type && variant.groups.contains($0.group) },
      needsOne: type != .subtitles, kind: type == .audio ? "audio" : "subtitles")
  }
}

extension HLSMultivariantPlaylist.Variant {
  /// The stated bit rate, which contains one rendition of each type.
  var rate: StreamPlan.Rate {
    let stated = averageBandwidth ?? bandwidth
    return stated > 0 ? .ofVariant(stated) : .unstated
  }

  /// Returns what the variant's bit rate states about renditions, in their order: those beyond the
  /// first of a type play in place of it, not at the same time.
  func rates(of renditions: [HLSMultivariantPlaylist.Rendition]) -> [StreamPlan.Rate] {
    var types: Set<HLSMultivariantPlaylist.Rendition.MediaType> = []
    return renditions.map { rendition in
      let isFirst = types.insert(rendition.type).inserted
      switch rendition.type {
      case .subtitles, .closedCaptions: return .subtitles
      case .audio, .video:
        if isFirst, rate != .unstated { return .inVariant }
        return rendition.type == .audio ? .sound : .unstated
      }
    }
  }
}
