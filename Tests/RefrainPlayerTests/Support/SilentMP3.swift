// SPDX-License-Identifier: MIT
import Foundation

/// Silence as MPEG-1 layer III frames: 44.1 kHz, stereo, 128 kbit/s, without a preceding header, as
/// stations send it.
enum SilentMP3 {
  /// The bytes of a frame, which lasts 1152 samples.
  static let frameLength = 417

  static let bytesPerSecond = frameLength * 44_100 / 1152

  static func frames(_ count: Int) -> Data {
    var frame = Data([0xFF, 0xFB, 0x90, 0x00])
    frame.append(Data(count: frameLength - frame.count))
    var data = Data(capacity: count * frameLength)
    for _ in 0..<count { data.append(frame) }
    return data
  }

  /// Returns mono frames of another rate: 320 or 32 kbit/s.
  static func frames(_ count: Int, kilobits: Int) -> Data {
    var frame = Data([0xFF, 0xFB, kilobits == 320 ? 0xE0 : 0x10, 0xC4])
    frame.append(Data(count: 144_000 * kilobits / 44_100 - frame.count))
    return (0..<count).reduce(into: Data()) { data, _ in data.append(frame) }
  }

  /// Returns silence of that duration, rounded up to a whole frame.
  static func lasting(seconds: Int) -> Data { frames((seconds * 44_100 + 1151) / 1152) }
}
