// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

/// Programs that decode a URL as fast as they can, and report the decoded frames.
enum Decoder: String, CaseIterable, Sendable, CustomTestStringConvertible {
  /// Reads over one connection and opens another one to seek. Of a stream, it decodes every variant
  /// and every language.
  case ffmpeg
  /// Decodes the best variant of a stream.
  case mpv
  /// Chooses a variant by the speed of the network.
  case vlc

  static let usable = RequiredProgram.ffmpeg.isUsable ? allCases.filter(\.isUsable) : []

  var testDescription: String { rawValue }

  private var isUsable: Bool {
    switch self {
    case .ffmpeg: RequiredProgram.ffmpeg.isUsable
    case .mpv: RequiredProgram.mpv.isUsable
    case .vlc: RequiredProgram.vlc.isUsable
    }
  }

  /// - Parameters:
  ///   - start: seconds to seek to before decoding.
  ///   - fewest: the fewest frames of a play that counts as one: two empty results would be equal.
  func decode(
    _ url: URL, from start: Double? = nil, hasVideo: Bool = true, fewest: Int = 6
  ) async throws -> Decoded {
    try await withDirectory { directory in
      let decoded =
        switch self {
        case .ffmpeg: try await Self.withFFmpeg(url, from: start, in: directory)
        case .mpv: try await Self.withMPV(url, from: start, in: directory)
        case .vlc: try await VLC.decode(url, from: start, hasVideo: hasVideo, in: directory)
        }
      try #require(decoded.frames.count >= fewest, "\(self) decoded \(decoded) of \(url)")
      return decoded
    }
  }

  private static func withFFmpeg(
    _ url: URL, from start: Double?, in directory: URL
  ) async throws -> Decoded {
    let seek = start.map { ["-ss", "\($0)"] } ?? []
    try await run(
      .ffmpeg,
      ["-nostdin", "-v", "error", "-xerror"] + seek + ["-i", url.absoluteString]
        + ["-map", "0:v?", "-map", "0:a?", "-f", "framemd5", "frames.txt"],
      in: directory)
    return try Decoded(framemd5: directory.appending(path: "frames.txt"))
  }

  /// Without the user's configuration.
  private static func withMPV(
    _ url: URL, from start: Double?, in directory: URL
  ) async throws -> Decoded {
    let seek = start.map { ["--start=\($0)"] } ?? []
    let frames = directory.appending(path: "frames.txt")
    try await run(
      .mpv,
      ["--no-config", "--no-terminal", "--untimed"] + seek
        + ["--o=\(frames.path(percentEncoded: false))", "--of=framemd5"]
        + ["--ovc=rawvideo", "--oac=pcm_s16le", url.absoluteString],
      in: directory)
    return try Decoded(framemd5: frames)
  }
}

/// A client's decoding of a file: a line with the hash of each decoded frame of sound or picture.
struct Decoded: Sendable, Equatable, CustomStringConvertible {
  var frames: [String]

  /// Parses a file of the output of `framemd5`: `stream, dts, pts, duration, size, hash` after lines with
  /// `#`. With mpv, neither the streams' numbers nor the order of two streams is stable, so both
  /// are left out; the times give the order of each.
  init(framemd5 file: URL) throws {
    let text = try String(contentsOf: file, encoding: .utf8)
    frames = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
      .map { String($0.drop { $0 != "," }) }
      .sorted()
  }

  init(frames: [String]) { self.frames = frames }

  /// A short FNV-1a hash, because the frames themselves are unreadable.
  var description: String {
    let hash = frames.joined(separator: "\n").utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01B3
    }
    return "\(frames.count) frames, \(String(hash, radix: 16))"
  }
}
