// SPDX-License-Identifier: MIT

/// The variant and the renditions of a stream that a person wants. A pure value.
package struct StreamChoice: Sendable, Hashable {
  package enum Quality: Sendable, Hashable {
    case best
    case worst
    /// The largest height in pixels that is not above this one, otherwise the smallest.
    case height(Int)
    /// The highest peak in bits per second that is not above this one, otherwise the lowest.
    case bitRate(Int64)
  }

  package enum Languages: Sendable, Hashable {
    /// The renditions that the playlist marks as its default.
    case standard
    case all
    case none
    /// Languages as in RFC 5646; `en` includes `en-US`.
    case some([String])
  }

  package var quality = Quality.best
  package var audio = Languages.standard
  package var subtitles = Languages.none

  package init() {}
}

extension HLSMultivariantPlaylist {
  /// Returns the variant of this quality.
  ///
  /// - Throws: `MediaCacheError`, if there is no variant, or none states its height.
  package func variant(of quality: StreamChoice.Quality) throws -> Variant {
    // Next to variants with pictures, those without are a fallback for bad networks.
    let withPictures = variants.filter { $0.height != nil }
    let candidates = withPictures.isEmpty ? variants : withPictures
    let chosen: Variant? =
      switch quality {
      case .best: candidates.max(by: Self.isWorse)
      case .worst: candidates.min(by: Self.isWorse)
      case .height(let height):
        withPictures.filter { ($0.height ?? 0) <= height }.max(by: Self.isWorse)
          ?? withPictures.min(by: Self.isWorse)
      case .bitRate(let rate):
        candidates.filter { $0.bandwidth <= rate }.max { $0.bandwidth < $1.bandwidth }
          ?? candidates.min { $0.bandwidth < $1.bandwidth }
      }
    if let chosen { return chosen }
    throw variants.isEmpty
      ? MediaCacheError(.invalidResponse, "The playlist has no variants with a URL.")
      : MediaCacheError(
        .invalidResponse, "The stream's playlist states no heights.",
        remedy: "Choose the quality by its bit rate.")
  }

  private static func isWorse(_ one: Variant, _ other: Variant) -> Bool {
    (one.height ?? 0, one.bandwidth) < (other.height ?? 0, other.bandwidth)
  }

  /// Returns the renditions of a variant in these languages, also those that are part of the
  /// variant's own media.
  ///
  /// - Throws: `MediaCacheError`, if the stream has no rendition in a language.
  package func renditions(of variant: Variant, _ choice: StreamChoice) throws -> [Rendition] {
    try renditions(.audio, variant.audioGroup, choice.audio)
      + renditions(.video, variant.videoGroup, .standard)
      + renditions(.subtitles, variant.subtitlesGroup, choice.subtitles)
  }

  private func renditions(
    _ type: Rendition.MediaType, _ group: String?, _ languages: StreamChoice.Languages
  ) throws -> [Rendition] {
    let all = renditions.filter { $0.type == type && $0.groupID == group }
    switch languages {
    case .none: return []
    case .all: return all
    case .standard:
      let standard = all.filter(\.isDefault)
      guard standard.isEmpty, type != .subtitles else { return standard }
      return (all.first(where: \.isAutoselect) ?? all.first).map { [$0] } ?? []
    case .some(let wanted):
      if let missing = wanted.first(where: { language in !all.contains { $0.isIn(language) } }) {
        throw Self.missing(missing, type, all)
      }
      return all.filter { rendition in wanted.contains(where: rendition.isIn) }
    }
  }

  private static func missing(
    _ language: String, _ type: Rendition.MediaType, _ all: [Rendition]
  ) -> MediaCacheError {
    let kind = type == .audio ? "audio" : "subtitles"
    var languages: [String] = []
    for language in all.compactMap(\.language) where !languages.contains(language) {
      languages.append(language)
    }
    return MediaCacheError(
      .invalidResponse, "The variant has no \(kind) in the language \(language).",
      remedy: languages.isEmpty
        ? "It states no languages of \(kind)."
        : "Choose among \(languages.prefix(50).joined(separator: ", ")).")
  }
}

extension HLSMultivariantPlaylist.Rendition {
  /// Whether the language is this one or a part of it (RFC 4647 §3.3.1).
  fileprivate func isIn(_ wanted: String) -> Bool {
    guard let language = language?.lowercased() else { return false }
    let wanted = wanted.lowercased()
    return language == wanted || language.hasPrefix(wanted + "-")
  }
}
