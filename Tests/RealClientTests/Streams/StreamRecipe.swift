// SPDX-License-Identifier: MIT
import Foundation
import TestSupport

/// The ways in which ffmpeg cuts pictures and sound into a stream.
enum StreamRecipe: Sendable, Hashable {
  /// HLS in MPEG-TS.
  case transportStream
  /// HLS in fragmented MP4, with an initialization segment (EXT-X-MAP).
  case fragments
  /// Three sizes of picture, sound in two languages, subtitles, and a list of I-frames.
  case variants
  /// MPEG-TS under AES-128, with a new key every two segments.
  case encrypted
  /// Segments that are ranges of one file (EXT-X-BYTERANGE).
  case byteRanges
  /// EXT-X-DISCONTINUITY between two segments.
  case discontinuity
  /// DASH with numbered segments of one duration, and with a SegmentTimeline.
  case dashNumbers, dashTimeline
  /// DASH with ranges of one file per stream: listed in the manifest, or found by its index.
  case dashSegmentList, dashSegmentBase

  var isDASH: Bool {
    switch self {
    case .dashNumbers, .dashTimeline, .dashSegmentList, .dashSegmentBase: true
    default: false
    }
  }

  var entry: String { isDASH ? "index.mpd" : "index.m3u8" }

  /// The fewest files, the entry included, that a player of the whole stream requests.
  var fewestFiles: Int {
    switch self {
    case .transportStream, .discontinuity: 6
    case .fragments: 7
    // Two playlists, each with an initialization segment and five segments.
    case .variants: 15
    case .encrypted: 9
    case .byteRanges: 2
    // Two initialization segments, and two times five or four segments.
    case .dashNumbers, .dashTimeline: 11
    case .dashSegmentList, .dashSegmentBase: 3
    }
  }

  /// Makes the files, by their names.
  func files() async throws -> [String: Data] {
    try await withDirectory { directory in
      switch self {
      case .variants: try await makeVariants(in: directory)
      case .encrypted: try await StreamEncryption.make(in: directory)
      case .dashSegmentBase:
        try await make(Self.input + Self.codecs + arguments, in: directory)
        try StreamManifest.writeWithSegmentBase(in: directory)
      default: try await make(Self.input + Self.codecs + arguments, in: directory)
      }
      var files = try Self.read(directory)
      if self == .discontinuity { files.edit(entry) { Self.withDiscontinuity($0) } }
      // ffmpeg requests one segment more than such a manifest has: this one has one more than it
      // states.
      if self == .dashNumbers {
        files.edit(entry) {
          $0.replacing(
            "mediaPresentationDuration=\"PT9.0S\"", with: "mediaPresentationDuration=\"PT8.0S\"")
        }
      }
      return files
    }
  }

  static let input = pictures("160x90") + sound(440)
  /// Segments of two seconds stay below 64 KiB, a first request of the cache.
  static let codecs = [
    "-c:v", "libx264", "-preset", "ultrafast", "-threads", "1", "-pix_fmt", "yuv420p",
    "-b:v", "100k", "-g", "50", "-keyint_min", "50", "-sc_threshold", "0",
    "-c:a", "aac", "-b:a", "48k", "-ac", "1", "-flags", "+bitexact", "-fflags", "+bitexact",
  ]
  static let playlist = ["-f", "hls", "-hls_time", "2", "-hls_playlist_type", "vod"]

  private static func pictures(_ size: String, rate: Int = 25) -> [String] {
    ["-f", "lavfi", "-i", "testsrc2=size=\(size):rate=\(rate):duration=9"]
  }

  private static func sound(_ frequency: Int) -> [String] {
    ["-f", "lavfi", "-i", "sine=frequency=\(frequency):sample_rate=44100:duration=9"]
  }

  private var arguments: [String] {
    let fragments = [
      "-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init.mp4",
      "-hls_segment_filename", "s%d.m4s",
    ]
    let manifest = ["-f", "dash", "-seg_duration", "2"]
    switch self {
    case .transportStream, .discontinuity:
      return Self.playlist + ["-hls_segment_filename", "s%d.ts", entry]
    case .fragments: return Self.playlist + fragments + [entry]
    case .byteRanges:
      return Self.playlist
        + ["-hls_flags", "single_file", "-hls_segment_filename", "all.ts", entry]
    // Made by several runs of ffmpeg.
    case .variants, .encrypted: return []
    case .dashNumbers, .dashTimeline:
      return manifest + ["-use_timeline", self == .dashTimeline ? "1" : "0"]
        + ["-init_seg_name", "init$RepresentationID$.mp4"]
        + ["-media_seg_name", "s$RepresentationID$-$Number%05d$.m4s", entry]
    case .dashSegmentList, .dashSegmentBase:
      return manifest
        + ["-single_file", "1", "-global_sidx", "1"]
        + ["-single_file_name", "all$RepresentationID$.mp4", entry]
    }
  }

  private func make(_ arguments: [String], in directory: URL) async throws {
    try await run(.ffmpeg, ["-nostdin", "-v", "error"] + arguments, in: directory)
  }

  private static func withDiscontinuity(_ text: String) -> String {
    text.replacing("s1.ts\n", with: "s1.ts\n#EXT-X-DISCONTINUITY\n")
  }

  private static func read(_ directory: URL) throws -> [String: Data] {
    var files: [String: Data] = [:]
    let names = try FileManager.default.subpathsOfDirectory(
      atPath: directory.path(percentEncoded: false))
    for name in names where !name.hasPrefix("said-") {
      let file = directory.appending(path: name)
      if try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true {
        files[name] = try Data(contentsOf: file)
      }
    }
    return files
  }

  // MARK: Variants

  private func makeVariants(in directory: URL) async throws {
    let streams =
      "v:0,agroup:sound,name:low v:1,agroup:sound,name:middle v:2,agroup:sound,name:high"
      + " a:0,agroup:sound,language:en,default:yes,name:en a:1,agroup:sound,language:de,name:de"
    let inputs =
      Self.pictures("160x90") + Self.pictures("256x144") + Self.pictures("320x180")
      + Self.sound(440) + Self.sound(660)
    var outputs = ["-b:v:1", "140k", "-b:v:2", "180k"]
    outputs += (0..<5).flatMap { ["-map", "\($0)"] } + Self.playlist
    outputs += ["-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init.mp4"]
    outputs += ["-master_pl_name", entry, "-var_stream_map", streams]
    outputs += ["-hls_segment_filename", "%v/s%d.m4s", "%v/index.m3u8"]
    try await make(inputs + Self.codecs + outputs, in: directory)
    for name in ["frames", "text"] {
      try FileManager.default.createDirectory(
        at: directory.appending(path: name), withIntermediateDirectories: true)
    }
    try await make(
      Self.pictures("160x90", rate: 1) + Self.codecs + ["-g", "1", "-keyint_min", "1"]
        + ["-f", "hls", "-hls_time", "1", "-hls_playlist_type", "vod"]
        + ["-hls_flags", "single_file", "-hls_segment_filename", "frames/all.ts"]
        + ["frames/index.m3u8"], in: directory)
    try Self.edit("frames/index.m3u8", in: directory) {
      $0.replacing("#EXTM3U\n", with: "#EXTM3U\n#EXT-X-I-FRAMES-ONLY\n")
    }
    for (name, text) in Self.subtitles {
      try Data(text.utf8).write(to: directory.appending(path: name))
    }
    try Self.edit(entry, in: directory) {
      $0.replacing(
        "#EXT-X-STREAM-INF:", with: "#EXT-X-STREAM-INF:SUBTITLES=\"text\","
      ).appending(Self.furtherPlaylists)
    }
  }

  private static let furtherPlaylists = """
    #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="English",LANGUAGE="en",URI="text/index.m3u8"
    #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=90000,CODECS="avc1.42c00b",URI="frames/index.m3u8"

    """

  private static let subtitles = [
    "text/index.m3u8": """
    #EXTM3U
    #EXT-X-VERSION:3
    #EXT-X-TARGETDURATION:9
    #EXT-X-PLAYLIST-TYPE:VOD
    #EXTINF:9.000000,
    all.vtt
    #EXT-X-ENDLIST

    """,
    "text/all.vtt": """
    WEBVTT
    X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0

    00:00:01.000 --> 00:00:04.000
    A line

    """,
  ]

  static func edit(
    _ name: String, in directory: URL, _ change: (String) -> String
  ) throws {
    let file = directory.appending(path: name)
    try Data(change(String(contentsOf: file, encoding: .utf8)).utf8).write(to: file)
  }
}

extension [String: Data] {
  fileprivate mutating func edit(_ name: String, _ change: (String) -> String) {
    self[name] = self[name].map { Data(change(String(decoding: $0, as: UTF8.self)).utf8) }
  }
}
