// SPDX-License-Identifier: MIT

/// Divides the sound of a RIFF/WAVE stream, whose bytes are in proportion to time. A pure value.
struct WAVBlocks: Sendable {
  /// All up to the first sample.
  private(set) var header: [UInt8] = []
  private var bytesPerSecond: Int64 = 0
  private var blockSize: Int64 = 0
  private var received: Int64 = 0
  private var nextPoint: Int64 = 0
  private var isInSound = false

  private static let longestHeader = 64 << 10

  /// Whether the header is complete and usable; nil: it is not complete yet.
  private(set) var isUsable: Bool?

  var end: Duration { isInSound ? time(received) : .zero }

  mutating func take(_ new: UnsafeRawBufferPointer) -> [LivePoint] {
    received += Int64(new.count)
    if !isInSound {
      guard isUsable == nil else { return [] }
      header.append(contentsOf: new)
      parseHeader()
      if header.count > Self.longestHeader, !isInSound { isUsable = false }
    }
    guard isInSound, isUsable == true else { return [] }
    var points: [LivePoint] = []
    while nextPoint < received {
      points.append(LivePoint(offset: nextPoint, time: time(nextPoint)))
      let step = max(1, bytesPerSecond / 4 / blockSize) * blockSize
      nextPoint += step
    }
    return points
  }

  private func time(_ offset: Int64) -> Duration {
    let (whole, rest) = (offset - Int64(header.count))
      .quotientAndRemainder(dividingBy: max(1, bytesPerSecond))
    return .seconds(whole) + .nanoseconds(rest * 1_000_000_000 / max(1, bytesPerSecond))
  }

  /// Looks for the chunk of the samples.
  private mutating func parseHeader() {
    var index = 12
    while index + 8 <= header.count {
      let size = Int(ScanBuffer.number(header, at: index + 4, count: 4))
      let name = header[index..<index + 4]
      if name.elementsEqual("data".utf8) {
        header.removeSubrange((index + 8)...)
        (isInSound, isUsable) = (true, bytesPerSecond > 0 && blockSize > 0)
        nextPoint = Int64(header.count)
        return
      }
      if name.elementsEqual("fmt ".utf8), index + 24 <= header.count {
        bytesPerSecond = ScanBuffer.number(header, at: index + 16, count: 4)
        blockSize = ScanBuffer.number(header, at: index + 20, count: 2)
      }
      index += 8 + size + size % 2
    }
  }
}
