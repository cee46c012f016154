// SPDX-License-Identifier: MIT

/// Finds the byte at which a decoder begins in a live stream of MPEG audio: the first whole frame. A
/// pure value.
///
/// The response of a station may begin within a frame. libmpv recognizes the sound by its first
/// frames if they begin with the first byte; otherwise it first examines about 64 KiB, for which a
/// listener waits for seconds.
struct LiveOpening: Sendable {
  private static let types: Set<String> = [
    "audio/mpeg", "audio/mp3", "audio/mpeg3", "audio/x-mpeg", "audio/aac", "audio/aacp",
    "audio/x-aac",
  ]

  /// The beginnings of what ffmpeg recognizes by its first bytes: an ID3 tag, which is wanted; and,
  /// of servers that state a wrong type, Ogg, FLAC, WAVE and Matroska.
  private static let known: [[UInt8]] = [
    Array("ID3".utf8), Array("OggS".utf8), Array("fLaC".utf8), Array("RIFF".utf8),
    [0x1A, 0x45, 0xDF, 0xA3],
  ]

  /// The bytes within which the first frame is expected: more than three of the longest.
  private static let longest: Int64 = 32 << 10

  /// The number of the bytes examined.
  private(set) var length: Int64 = 0
  /// The first byte that a decoder needs; nil: the next bytes decide.
  private(set) var start: Int64?
  private var frames = MPEGFrames()
  private var beginning: [UInt8] = []

  /// Returns nil for streams of another type: they begin at their first byte.
  init?(mimeType: String?) {
    guard let mimeType, Self.types.contains(mimeType) else { return nil }
  }

  /// Takes the next bytes of the stream; none: it has ended.
  mutating func take(_ new: UnsafeRawBufferPointer) {
    guard start == nil else { return }
    length += Int64(new.count)
    beginning += new.prefix(4 - beginning.count)
    if Self.known.contains(where: { beginning.starts(with: $0) }) {
      start = 0
    } else if let first = frames.take(new).first {
      start = first.offset
    } else if new.isEmpty || length >= Self.longest {
      start = 0
    }
  }
}
