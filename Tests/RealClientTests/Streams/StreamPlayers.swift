// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import TestSupport
import Testing

/// Programs that play a stream as fast as they can, and report the decoded frames.
enum StreamPlayer: String, CaseIterable, Sendable, CustomTestStringConvertible {
  /// Decodes every variant and every language.
  case ffmpeg
  /// Decodes the best variant.
  case mpv
  /// Chooses a variant by the speed of the network.
  case vlc

  var testDescription: String { rawValue }

  var isUsable: Bool {
    switch self {
    case .ffmpeg: RequiredProgram.ffmpeg.isUsable
    case .mpv: RequiredProgram.mpv.isUsable
    case .vlc: RequiredProgram.vlc.isUsable
    }
  }

  /// The kinds of streams that this player plays in each run: of ffmpeg every recipe and every
  /// spelling of DASH, since `StreamReferenceTests` follows all playlists; and one of each sort for
  /// the others. Long runs play all.
  var kinds: [StreamFixture.Kind] {
    let chosen: [StreamFixture.Kind] =
      switch self {
      case _ where TestSeed.isSoak: StreamFixture.Kind.allCases
      case .ffmpeg:
        [
          .transportStream, .rootedFragments, .absoluteVariants, .networkPathKeys, .byteRanges,
          .discontinuity, .dashNumbers, .dashTimeline, .dashSegmentBase, .dashAbsoluteBase,
          .dashAbsoluteTemplate, .dashRootedTemplate, .gzipped, .cookies, .signed,
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

  /// - Parameters:
  ///   - start: seconds to seek to before decoding.
  ///   - fewest: the fewest frames of a play that counts as one. Default: those of a whole stream,
  ///     or of its second half, of which `VLC` reports the last pictures.
  func decode(_ url: URL, from start: Double? = nil, fewest: Int? = nil) async throws -> Decoded {
    let fewest = fewest ?? (start == nil ? 200 : 80)
    return try await withDirectory { directory in
      let decoded =
        switch self {
        case .ffmpeg: try await Self.decodeAll(url, from: start, in: directory)
        case .mpv: try await MPV.decode(url, from: start, in: directory)
        case .vlc: try await VLC.decode(url, from: start, hasVideo: true, in: directory)
        }
      // Two empty results would be equal.
      try #require(decoded.frames.count >= fewest, "\(self) decoded \(decoded) of \(url)")
      return decoded
    }
  }

  private static func decodeAll(
    _ url: URL, from start: Double?, in directory: URL
  ) async throws -> Decoded {
    let seek = start.map { ["-ss", "\($0)"] } ?? []
    try await run(
      .ffmpeg,
      ["-nostdin", "-v", "error", "-xerror"] + seek + ["-i", url.absoluteString]
        + ["-map", "0:v?", "-map", "0:a?", "-f", "framemd5", "frames.txt"],
      in: directory)
    let frames = directory.appending(path: "frames.txt")
    return Decoded(framemd5: try String(contentsOf: frames, encoding: .utf8))
  }
}

/// A player on a stream.
struct StreamPlay: Sendable, Hashable, CustomTestStringConvertible {
  let player: StreamPlayer
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
    if player.seeks(in: kind) { starts += Self.seeks }
    // The last one confirms its signature for all segments.
    return starts + [nil]
  }

  /// In order: beyond the middle, back, and forward.
  private static let seeks: [Double?] = [4.5, 1.02, 2.5]

  static let chosen =
    RequiredProgram.ffmpeg.isUsable
    ? StreamPlayer.allCases.filter(\.isUsable).flatMap { player in
      player.kinds.map { StreamPlay(player: player, kind: $0) }
    } : []

  /// What decides on the frames: the spelling of references does not.
  private struct Played: Hashable {
    var player: StreamPlayer
    var recipe: StreamRecipe
    var start: Double?
  }

  /// Returns the decoded frames of the stream from an origin itself: the expected result through
  /// the proxy. Computed once per test run.
  ///
  /// - Parameter start: seconds to seek to before decoding.
  func direct(from start: Double? = nil) async throws -> Decoded {
    let played = Played(player: player, recipe: kind.recipe, start: start)
    let playing = Self.playing.withLock { known in
      if let playing = known[played] { return playing }
      let playing = Task {
        let stream = try await StreamFixture.made(kind.undemanding)
        let origin = try await OriginServer.start()
        stream.serve(on: origin)
        let decoded = await Task {
          try await player.decode(origin.url(stream.entry), from: start)
        }.result
        await origin.stop()
        return try decoded.get()
      }
      known[played] = playing
      return playing
    }
    return try await playing.value
  }

  private static let playing = Mutex<[Played: Task<Decoded, any Error>]>([:])
}
