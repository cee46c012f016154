// SPDX-License-Identifier: MIT

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
    try renditions(.audio, variant.audioGroup, choice.audio)
      + renditions(.video, variant.videoGroup, .standard)
      + renditions(.subtitles, variant.subtitlesGroup, choice.subtitles)
  }

  private func renditions(
    _ type: Rendition.MediaType, _ group: String?, _ languages: StreamChoice.Languages
  ) throws(MediaCacheError) -> [Rendition] {
    try languages.choose(
      among: renditions.filter { $0.type == type && $0.groupID == group },
      needsOne: type != .subtitles, kind: type == .audio ? "audio" : "subtitles")
  }
}
