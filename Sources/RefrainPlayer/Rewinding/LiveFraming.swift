// SPDX-License-Identifier: MIT

/// Finds the points of a live stream at which a decoder can start, and their times, which it counts
/// in samples. A pure value.
struct LiveFraming: Sendable {
  private enum Format: Sendable {
    case undecided([UInt8])
    case mpeg(MPEGFrames)
    case ogg(OggPages)
    case wav(WAVBlocks)
    case unknown
  }

  private var format = Format.undecided([])

  /// The bytes within which a stream's first frames are expected.
  private static let longestOpening = 64 << 10

  /// Whether the format is one in which no point can be found.
  var isUnknown: Bool { if case .unknown = format { true } else { false } }

  /// Whether a decoder can go on with the bytes of another response to the same request.
  var canContinue: Bool {
    switch format {
    case .mpeg, .ogg: true
    case .undecided, .wav, .unknown: false
    }
  }

  /// The duration of all sound so far.
  var end: Duration {
    switch format {
    case .undecided, .unknown: .zero
    case .mpeg(let frames): frames.end
    case .ogg(let pages): pages.end
    case .wav(let blocks): blocks.end
    }
  }

  /// The first byte from which a decoder can start.
  var start: Int64 {
    switch format {
    case .ogg(let pages): pages.start
    case .undecided, .mpeg, .wav, .unknown: 0
    }
  }

  /// Returns the bytes that a decoder needs before those of a point; nil: they are not known.
  func header(_ number: Int) -> [UInt8]? {
    switch format {
    case .mpeg: []
    case .ogg(let pages): pages.header(number)
    case .wav(let blocks): blocks.header
    case .undecided, .unknown: nil
    }
  }

  /// Takes the next bytes of the stream. Returns the points found, in their order.
  mutating func take(_ new: UnsafeRawBufferPointer) -> [LivePoint] {
    switch format {
    case .unknown: return []
    case .undecided(var opening):
      // Released first, so that appending copies nothing.
      format = .unknown
      opening.append(contentsOf: new)
      return decide(opening)
    case .mpeg(var frames):
      format = .unknown
      defer { format = .mpeg(frames) }
      return frames.take(new)
    case .ogg(var pages):
      format = .unknown
      defer { format = pages.isUnknown ? .unknown : .ogg(pages) }
      return pages.take(new)
    case .wav(var blocks):
      format = .unknown
      defer { format = blocks.isUsable == false ? .unknown : .wav(blocks) }
      return blocks.take(new)
    }
  }

  /// Records that the next bytes are those of another response, which begins anywhere.
  mutating func breakOff() {
    switch format {
    case .mpeg(var frames):
      frames.breakOff()
      format = .mpeg(frames)
    case .ogg(var pages):
      pages.breakOff()
      format = .ogg(pages)
    case .undecided, .wav, .unknown: break
    }
  }

  private mutating func decide(_ opening: [UInt8]) -> [LivePoint] {
    guard opening.count >= 12 else {
      format = .undecided(opening)
      return []
    }
    if opening.starts(with: "OggS".utf8) {
      format = .ogg(OggPages())
    } else if opening.starts(with: "RIFF".utf8), opening[8..<12].elementsEqual("WAVE".utf8) {
      format = .wav(WAVBlocks())
    } else {
      var frames = MPEGFrames()
      let points = opening.withUnsafeBytes { frames.take($0) }
      if frames.hasFrames {
        format = .mpeg(frames)
      } else if opening.count < Self.longestOpening {
        format = .undecided(opening)
      }
      return points
    }
    return opening.withUnsafeBytes { take($0) }
  }
}
