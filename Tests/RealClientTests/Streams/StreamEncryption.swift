// SPDX-License-Identifier: MIT
import Foundation
import TestSupport

/// AES-128 with a new key every two segments (RFC 8216 §4.3.2.4). Playlist, segments and keys.
enum StreamEncryption {
  private static let segments = 0..<5

  static func make(in directory: URL) async throws {
    try await run(
      .ffmpeg,
      ["-nostdin", "-v", "error"] + StreamRecipe.input + StreamRecipe.codecs
        + StreamRecipe.playlist + ["-hls_segment_filename", "plain%d.ts", "index.m3u8"],
      in: directory)
    // ffmpeg copies the bytes as they are, through its encrypting protocol.
    let inputs = segments.flatMap { ["-f", "data", "-i", "plain\($0).ts"] }
    let outputs = segments.flatMap { segment in
      ["-map", "\(segment)", "-c", "copy", "-f", "data"]
        + ["-encryption_key", hexadecimal(key(of: segment))]
        + ["-encryption_iv", hexadecimal(vector(of: segment)), "crypto:s\(segment).ts"]
    }
    try await run(.ffmpeg, ["-nostdin", "-v", "error"] + inputs + outputs, in: directory)
    for segment in segments {
      try Data(key(of: segment)).write(to: directory.appending(path: name(ofKey: segment)))
      try FileManager.default.removeItem(at: directory.appending(path: "plain\(segment).ts"))
    }
    try StreamRecipe.edit("index.m3u8", in: directory) { text in
      let parts = text.components(separatedBy: "#EXTINF:").enumerated().map { index, part in
        guard index > 0 else { return part }
        let segment = index - 1
        let tag = segment.isMultiple(of: 2) ? tag(of: segment) : ""
        return tag + "#EXTINF:" + part.replacing("plain\(segment).ts", with: "s\(segment).ts")
      }
      return parts.joined()
    }
  }

  /// Only the last key's initialization vector is written out; without one it is the segment's
  /// number.
  private static func tag(of segment: Int) -> String {
    let vector = segment == 4 ? ",IV=0x\(hexadecimal(vector(of: segment)))" : ""
    return "#EXT-X-KEY:METHOD=AES-128,URI=\"\(name(ofKey: segment))\"\(vector)\n"
  }

  private static func name(ofKey segment: Int) -> String { "key\(segment / 2).key" }

  private static func key(of segment: Int) -> [UInt8] {
    Array("0123456789abcde".utf8) + [UInt8(segment / 2)]
  }

  private static func vector(of segment: Int) -> [UInt8] {
    Array(repeating: segment == 4 ? 9 : 0, count: 15) + [UInt8(segment)]
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
