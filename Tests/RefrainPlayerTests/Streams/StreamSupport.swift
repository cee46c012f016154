// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainPlayer
@testable import RefrainPlayerStreams

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
    for index in numbers ?? 0..<segments {
      origin.serve(
        OriginResource(
          .bytes(Array(Self.segment(index))), contentType: "audio/mpeg", etag: "\"\(index)\""),
        at: "/\(index).mp3")
    }
    return origin.serveManifest(playlist, at: "/\(name)")
  }
}

extension OriginServer {
  /// Serves a playlist or an MPD, and returns its URL.
  @discardableResult
  func serveManifest(_ text: String, at path: String, headers: [Field] = []) -> URL {
    let isDASH = path.hasSuffix(".mpd")
    serve(
      OriginResource(
        .bytes(Array(text.utf8)),
        contentType: isDASH ? "application/dash+xml" : "application/vnd.apple.mpegurl",
        etag: "\"\(text.hashValue)\"", headers: headers),
      at: path)
    return url(path)
  }
}

// MARK: Maps of streams

extension URL {
  init(named name: String) throws { self = try #require(URL(string: "https://h/\(name)")) }
}

extension CacheKey {
  init(named name: String) throws { self.init(url: try URL(named: name)) }
}

extension Sequence<Range<Duration>> {
  var inSeconds: [[Double]] {
    map { [$0.lowerBound / .seconds(1), $0.upperBound / .seconds(1)] }
  }
}

extension StreamMap {
  /// Answers the look-ups: these resources are stored whole, which is nine bytes, or in these ranges.
  mutating func store(_ names: [String], ranges: [Range<Int64>] = [0..<9]) throws {
    let keys = Set(try names.map { try CacheKey(named: $0) })
    for key in keys { note(.fetchFinished(key, 0..<9, nil)) }
    for changed in takeChanged() {
      let timeline = try #require(playlists[changed.playlist].timeline)
      let found = changed.resources.map {
        keys.contains(timeline.keys[$0])
          ? CacheProgress(length: 9, spans: RangeSet(ranges))
          : CacheProgress(length: nil, spans: RangeSet())
      }
      note(found, of: changed.resources, in: changed.playlist)
    }
  }
}
