// SPDX-License-Identifier: MIT

/// What a client made of a file: a line for each frame of sound or picture that it decoded, with the
/// frame's hash.
struct Decoded: Sendable, Equatable, CustomStringConvertible {
  var frames: [String]

  /// Of the output of `framemd5`: `stream, dts, pts, duration, size, hash` after lines with `#`.
  /// Neither the streams' numbers nor the order of two of them is the same each time with mpv, so
  /// both are left out; the times say the order of each.
  init(framemd5 text: String) {
    frames = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
      .map { $0.split(separator: ",").dropFirst().joined(separator: ",") }
      .sorted()
  }

  init(frames: [String]) { self.frames = frames }

  /// Short, for the frames themselves tell a reader nothing. FNV-1a.
  var description: String {
    let hash = frames.joined(separator: "\n").utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01B3
    }
    return "\(frames.count) frames, \(String(hash, radix: 16))"
  }
}
