// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

extension Decoder {
  /// The kinds of streams that this player plays in each run: of ffmpeg every recipe, and the
  /// spellings of DASH that no other player plays, since `StreamReferenceTests` follows all
  /// playlists; and one of each sort for the others. Long runs play all.
  var kinds: [StreamFixture.Kind] {
    let chosen: [StreamFixture.Kind] =
      switch self {
      case _ where TestSeed.isSoak: StreamFixture.Kind.allCases
      case .ffmpeg:
        [
          .transportStream, .rootedFragments, .absoluteVariants, .networkPathKeys, .byteRanges,
          .discontinuity, .dashNumbers, .dashTimeline, .dashSegmentBase, .dashRootedTemplate,
          .gzipped, .cookies, .signed,
        ]
      case .mpv: [.absoluteVariants, .encrypted, .byteRanges, .discontinuity, .dashAbsoluteBase]
      case .vlc: [.absoluteKeys, .byteRanges, .dashNumbers]
      }
    return chosen.filter { plays($0) }
  }

  /// Whether two direct plays of a stream decode to the same frames, at all.
  func plays(_ kind: StreamFixture.Kind) -> Bool {
    switch (self, kind.recipe) {
    // The choice of the variant, and the frames lost at a discontinuity, vary.
    case (.vlc, .variants), (.vlc, .discontinuity): false
    // VLC 3 finds no segment by the index, and ffmpeg 5 none by the list.
    case (.vlc, .dashSegmentBase): false
    case (.ffmpeg, .dashSegmentList), (.mpv, .dashSegmentList): false
    default: true
    }
  }

  /// Whether two direct plays that begin with a seek decode to the same frames, at all.
  func seeks(in kind: StreamFixture.Kind) -> Bool {
    switch (self, kind.recipe) {
    // After a seek, the HLS demuxer of ffmpeg 5, which mpv uses too, decodes no fragment.
    case (.ffmpeg, .fragments), (.ffmpeg, .variants): false
    case (.mpv, .fragments), (.mpv, .variants): false
    default: true
    }
  }

  /// Decodes a stream from a place on: the whole one, or its second half, of which `VLC` reports the
  /// last pictures.
  func decodeStream(_ url: URL, from start: Double? = nil) async throws -> Decoded {
    try await decode(url, from: start, fewest: start == nil ? 200 : 80)
  }
}

/// A player on a stream.
struct StreamPlay: Sendable, Hashable, CustomTestStringConvertible {
  let player: Decoder
  let kind: StreamFixture.Kind

  var testDescription: String { "\(player.rawValue), \(kind.rawValue)" }

  /// Whether to play it twice with its origin. One stream of each sort is enough for that, and each
  /// whose origin demands something.
  private var isRepeated: Bool {
    if TestSeed.isSoak || kind != kind.undemanding { return true }
    let chosen: [StreamFixture.Kind] =
      switch player {
      case .ffmpeg: [.absoluteVariants, .networkPathKeys, .dashTimeline]
      case .mpv: [.encrypted, .dashAbsoluteBase]
      case .vlc: [.absoluteKeys, .dashNumbers]
      }
    return chosen.contains(kind)
  }

  /// The plays with the origin, by the seconds at which each starts; nil: at the beginning, without
  /// a seek. The first one finds nothing stored.
  var starts: [Double?] {
    var starts: [Double?] = isRepeated ? [nil] : []
    if player.seeks(in: kind) { starts += isRepeated ? Self.seeks : Array(Self.seeks.dropLast()) }
    // The last one confirms its signature for all segments.
    return starts + [nil]
  }

  /// In order: beyond the middle, back, and forward.
  private static let seeks: [Double?] = [4.5, 1.02, 2.5]

  static let chosen = Decoder.usable.flatMap { player in
    player.kinds.map { StreamPlay(player: player, kind: $0) }
  }

  /// What decides on the frames: the spelling of references does not.
  private struct Played: Hashable {
    var player: Decoder
    var recipe: StreamRecipe
    var start: Double?
  }

  /// Returns the decoded frames of the stream from an origin itself: the expected result through
  /// the proxy. Computed once per test run.
  ///
  /// - Parameter start: seconds to seek to before decoding.
  func direct(from start: Double? = nil) async throws -> Decoded {
    let key = Played(player: player, recipe: kind.recipe, start: start)
    return try await Self.direct.value(for: key) {
      let stream = try await StreamFixture.made(kind.undemanding)
      return try await withOrigin { origin in
        stream.serve(on: origin)
        return try await player.decodeStream(origin.url(stream.entry), from: start)
      }
    }
  }

  private static let direct = MadeOnce<Played, Decoded>()
}
