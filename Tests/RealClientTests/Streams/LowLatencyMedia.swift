// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// The media of a low-latency stream, made by ffmpeg: segments of two seconds in parts of ten
/// frames, which all differ.
struct LowLatencyMedia: Sendable {
  static let segmentDuration = 2
  static let partsPerSecond = 2
  static let framesPerSecond = 20
  private static let partsPerSegment = segmentDuration * partsPerSecond
  /// Segments that exist at the start, and those beyond the seconds that a player plays: it may
  /// begin late, and hls.js does not request the last part of a list that has ended.
  private static let (atStart, atEnd) = (4, 14)

  /// How long a player plays after the start, a multiple of `segmentDuration`.
  let seconds: Int

  var secondsAtStart: Int { Self.atStart * Self.segmentDuration }
  var partsAtStart: Int { Self.atStart * Self.partsPerSegment }

  func stream() async throws -> LiveStream {
    let count = Self.atStart + seconds / Self.segmentDuration + Self.atEnd
    let file = try await file(seconds: count * Self.segmentDuration)
    try #require(file.fragments.count == count * Self.partsPerSegment)
    var stream = LiveStream(
      (0..<count).map { number in
        let parts = file.fragments.dropFirst(number * Self.partsPerSegment)
        return LiveStream.Segment(
          parts: Array(parts.prefix(Self.partsPerSegment)),
          duration: .seconds(Self.segmentDuration))
      })
    stream.lowLatency = .init(partTarget: .seconds(1) / Self.partsPerSecond)
    (stream.window, stream.segmentsAtStart) = (8, Self.atStart)
    (stream.suffix, stream.initialization) = ("m4s", file.initialization)
    return stream
  }

  /// Each fragment is a part, and each segment begins with a key frame.
  private func file(seconds: Int) async throws -> FragmentedMP4 {
    try await withDirectory { directory in
      let frames = "\(Self.segmentDuration * Self.framesPerSecond)"
      let input = "testsrc2=size=160x90:rate=\(Self.framesPerSecond):duration=\(seconds)"
      try await run(
        .ffmpeg,
        ["-nostdin", "-v", "error", "-f", "lavfi", "-i", input] + StreamRecipe.codecs
          + ["-g", frames, "-keyint_min", frames, "-bf", "0"]
          + ["-movflags", "+empty_moov+default_base_moof+frag_keyframe+skip_trailer"]
          + ["-frag_duration", "\(1_000_000 / Self.partsPerSecond)", "all.mp4"],
        in: directory, limit: .seconds(300))
      return try FragmentedMP4(Data(contentsOf: directory.appending(path: "all.mp4")))
    }
  }
}
