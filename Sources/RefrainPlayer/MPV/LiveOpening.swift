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

  /// The first byte that a decoder needs; nil: the next bytes decide.
  private(set) var start: Int64?
  /// The bytes examined.
  private var bytes: [UInt8] = []
  /// The first place at which a frame may begin.
  private var index = 0

  /// Returns nil for streams of another type: they begin at their first byte.
  init?(mimeType: String?) {
    guard let mimeType, Self.types.contains(mimeType) else { return nil }
  }

  /// The number of the bytes examined.
  var length: Int64 { Int64(bytes.count) }

  /// Takes the next bytes of the stream; none: it has ended.
  mutating func take(_ new: UnsafeRawBufferPointer) {
    guard start == nil else { return }
    bytes += new
    if Self.known.contains(where: { bytes.starts(with: $0) }) {
      start = 0
    } else if let first = firstFrame() {
      start = Int64(first)
    } else if new.isEmpty || length >= Self.longest {
      start = 0
    }
  }

  /// Returns the place of the first frame; nil: none is known.
  private mutating func firstFrame() -> Int? {
    while index + MPEGFrame.headerLength <= bytes.count {
      if let frame = MPEGFrame.parse(bytes, at: index) {
        guard let isFrame = isFollowed(frame) else { return nil }
        if isFrame { return index }
      }
      index += 1
    }
    return nil
  }

  /// Returns whether two frames of the same kind follow the one at `index`; nil: they have yet to
  /// arrive. Other bytes may look like one header.
  private func isFollowed(_ frame: MPEGFrame) -> Bool? {
    var (next, last) = (index, frame)
    for _ in 0..<2 {
      next += last.length
      guard next + MPEGFrame.headerLength <= bytes.count else { return nil }
      guard let frame = MPEGFrame.parse(bytes, at: next), frame.kind == last.kind else {
        return false
      }
      last = frame
    }
    return true
  }
}
