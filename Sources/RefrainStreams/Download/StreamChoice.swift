// SPDX-License-Identifier: MIT
import Refrain

/// The quality and the languages of a stream that a person wants. A pure value.
package struct StreamChoice: Sendable, Hashable {
  package enum Quality: Sendable, Hashable {
    /// The best; while the cache is offline, the best of those that are stored.
    case standard
    case best
    case worst
    /// The largest height in pixels that is not above this one, otherwise the smallest.
    case height(Int)
    /// The highest peak in bits per second that is not above this one, otherwise the lowest.
    case bitRate(Int64)
  }

  package enum Languages: Sendable, Hashable {
    /// The renditions that the stream marks as its default; of sound while the cache is offline,
    /// among those that are stored.
    case standard
    case all
    case none
    /// Languages as in RFC 5646; `en` includes `en-US`.
    case some([String])
  }

  package var quality = Quality.standard
  package var audio = Languages.standard
  package var subtitles = Languages.none

  package init() {}
}

// MARK: Quality

/// One of the qualities among which a choice is made.
protocol StreamQuality: Sendable {
  /// In pixels; nil for sound, or if unknown.
  var height: Int? { get }
  /// The peak in bits per second; 0 if unknown.
  var bandwidth: Int64 { get }
}

extension HLSMultivariantPlaylist.Variant: StreamQuality {}
extension DASHPresentation.Representation: StreamQuality {}

extension StreamChoice.Quality {
  /// - Throws: `MediaCacheError`, if there is no quality, or none states its height.
  func choose<Quality: StreamQuality>(
    among qualities: [Quality]
  ) throws(MediaCacheError) -> Quality {
    // Next to qualities with pictures, those without are a fallback for bad networks.
    let withPictures = qualities.filter { $0.height != nil }
    let candidates = withPictures.isEmpty ? qualities : withPictures
    let chosen: Quality? =
      switch self {
      case .standard, .best: candidates.max(by: Self.isWorse)
      case .worst: candidates.min(by: Self.isWorse)
      case .height(let height):
        withPictures.filter { ($0.height ?? 0) <= height }.max(by: Self.isWorse)
          ?? withPictures.min(by: Self.isWorse)
      case .bitRate(let rate):
        candidates.filter { $0.bandwidth <= rate }.max { $0.bandwidth < $1.bandwidth }
          ?? candidates.min { $0.bandwidth < $1.bandwidth }
      }
    if let chosen { return chosen }
    throw qualities.isEmpty
      ? MediaCacheError(.invalidResponse, "The stream has no qualities with a URL.")
      : MediaCacheError(
        .invalidResponse, "The stream states no heights.",
        remedy: "Choose the quality by its bit rate.")
  }

  private static func isWorse(_ one: some StreamQuality, _ other: some StreamQuality) -> Bool {
    (one.height ?? 0, one.bandwidth) < (other.height ?? 0, other.bandwidth)
  }
}

// MARK: Languages

/// One of the tracks among which a choice is made.
protocol StreamTrack: Sendable {
  /// RFC 5646; nil if unknown.
  var language: String? { get }
  var isDefault: Bool { get }
  var isAutoselect: Bool { get }
}

extension HLSMultivariantPlaylist.Rendition: StreamTrack {}

extension StreamChoice.Languages {
  /// - Parameters:
  ///   - needsOne: whether a player needs a track even if none is marked as the default.
  ///   - kind: `audio`, for the error.
  /// - Throws: `MediaCacheError`, if no track is in one of the languages.
  func choose<Track: StreamTrack>(
    among all: [Track], needsOne: Bool, kind: String
  ) throws(MediaCacheError) -> [Track] {
    switch self {
    case .none: return []
    case .all: return all
    case .standard:
      let standard = all.filter(\.isDefault)
      guard standard.isEmpty, needsOne else { return standard }
      return (all.first(where: \.isAutoselect) ?? all.first).map { [$0] } ?? []
    case .some(let wanted):
      if let missing = wanted.first(where: { language in !all.contains { $0.isIn(language) } }) {
        throw Self.missing(missing, kind, all)
      }
      return all.filter { track in wanted.contains(where: track.isIn) }
    }
  }

  private static func missing(
    _ language: String, _ kind: String, _ all: [some StreamTrack]
  ) -> MediaCacheError {
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

extension StreamTrack {
  /// Whether the language is this one or a part of it (RFC 4647 §3.3.1).
  func isIn(_ wanted: String) -> Bool {
    guard let language = language?.lowercased() else { return false }
    let wanted = wanted.lowercased()
    return language == wanted || language.hasPrefix(wanted + "-")
  }
}
