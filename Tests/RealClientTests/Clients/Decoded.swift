// SPDX-License-Identifier: MIT

/// A client's decoding of a file: a line with the hash of each decoded frame of sound or picture.
struct Decoded: Sendable, Equatable, CustomStringConvertible {
  var frames: [String]

  /// Parses the output of `framemd5`: `stream, dts, pts, duration, size, hash` after lines with
  /// `#`. With mpv, neither the streams' numbers nor the order of two streams is stable, so both
  /// are left out; the times give the order of each.
  init(framemd5 text: String) {
    frames = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
      .map { $0.split(separator: ",").dropFirst().joined(separator: ",") }
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
