// SPDX-License-Identifier: MIT
import Foundation
import OriginServer

/// An HTTP Live Stream of silence: packed MPEG audio in segments of two seconds (RFC 8216 §3.4).
struct SilentStream {
  /// The number of segments in the playlist.
  var segments = 10
  /// Whether the playlist has no end yet.
  var isLive = false

  private static let framesPerSegment = 77
  private static let samplesPerSegment = framesPerSegment * 1152
  static let secondsPerSegment = Double(samplesPerSegment) / 44_100

  var seconds: Double { Double(segments) * Self.secondsPerSegment }

  var playlist: String {
    var lines = [
      "#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:3", "#EXT-X-MEDIA-SEQUENCE:0",
    ]
    for index in 0..<segments { lines += ["#EXTINF:\(Self.secondsPerSegment),", "\(index).mp3"] }
    if !isLive { lines.append("#EXT-X-ENDLIST") }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Returns a segment: the time at which it begins, as ID3, and frames.
  static func segment(_ index: Int) -> Data {
    let ticks = UInt64(index * samplesPerSegment * 90_000 / 44_100)
    var content = Data("com.apple.streaming.transportStreamTimestamp\0".utf8)
    withUnsafeBytes(of: ticks.bigEndian) { content.append(contentsOf: $0) }
    let frame = Data("PRIV".utf8) + [0, 0, 0, UInt8(content.count), 0, 0] + content
    let tag = Data("ID3".utf8) + [4, 0, 0, 0, 0, 0, UInt8(frame.count)] + frame
    return tag + SilentMP3.frames(framesPerSegment)
  }

  /// Serves the playlist, and the segments of these numbers; nil: all. Returns the playlist's URL.
  func serve(
    on origin: OriginServer, as name: String = "stream.m3u8", segments numbers: Range<Int>? = nil
  ) -> URL {
    origin.serve(
      OriginResource(
        .bytes(Array(playlist.utf8)), contentType: "application/vnd.apple.mpegurl",
        etag: "\"\(segments)-\(isLive)\""),
      at: "/\(name)")
    for index in numbers ?? 0..<segments {
      origin.serve(
        OriginResource(
          .bytes(Array(Self.segment(index))), contentType: "audio/mpeg", etag: "\"\(index)\""),
        at: "/\(index).mp3")
    }
    return origin.url("/\(name)")
  }
}
