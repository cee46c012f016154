// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The index of the segments of one file (ISO/IEC 14496-12 §8.16.3).
struct SegmentIndexTests {
  private typealias Segment = SegmentIndex.Segment

  private func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    bytes(UInt64(content.count + 8), 4) + Array(type.utf8) + content
  }

  private func bytes(_ value: UInt64, _ width: Int) -> [UInt8] {
    (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64(width - 1 - $0))) }
  }

  private func index(
    version: UInt8 = 0, timescale: UInt64 = 1000, gap: UInt64 = 0,
    _ segments: [(size: UInt64, duration: UInt64)] = [(10, 2000), (20, 1500)]
  ) -> [UInt8] {
    let width = version == 0 ? 4 : 8
    let head = [version, 0, 0, 0] + bytes(1, 4) + bytes(timescale, 4)
    let place = bytes(0, width) + bytes(gap, width) + bytes(0, 2)
    let list = segments.flatMap {
      bytes($0.size, 4) + bytes($0.duration, 4) + bytes(0x9000_0000, 4)
    }
    return box("sidx", head + place + bytes(UInt64(segments.count), 2) + list)
  }

  @Test(arguments: [UInt8(0), 1])
  func `Segments follow their index one after another`(version: UInt8) throws {
    let bytes = index(version: version, gap: 5)
    let start = 100 + Int64(bytes.count) + 5
    let found = try #require(SegmentIndex(bytes, at: 100))
    #expect(
      found.segments == [
        Segment(range: start..<start + 10, seconds: 2),
        Segment(range: start + 10..<start + 30, seconds: 1.5),
      ])
  }

  @Test func `The first index among other boxes counts, and those after it are not passed over`()
    throws
  {
    let bytes = box("styp", [1, 2, 3]) + index() + box("ssix", [4])
    let start = Int64(bytes.count - 9)
    #expect(try #require(SegmentIndex(bytes, at: 0)).segments.first?.range == start..<start + 10)
  }

  @Test func `An index that is cut, of indices, without units or without segments is none`() {
    let whole = box("free", [0]) + index()
    for length in 0..<whole.count {
      #expect(SegmentIndex(Array(whole[..<length]), at: 0) == nil, "\(length)")
    }
    #expect(SegmentIndex(index([(0x8000_000A, 2000)]), at: 0) == nil)
    #expect(SegmentIndex(index(timescale: 0), at: 0) == nil)
    #expect(SegmentIndex(index([]), at: 0) == nil)
    #expect(SegmentIndex(index([(0, 1)]), at: 0) == nil)
    #expect(SegmentIndex(index(version: 1, gap: .max), at: 0) == nil)
    #expect(SegmentIndex(index(), at: .max) == nil)
  }

  @Test func `Any bytes are read without a crash`() {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    print("Segment indices: REFRAIN_SEED=\(seed)")
    for _ in 0..<20_000 {
      var bytes = index(version: UInt8.random(in: 0...1, using: &random))
      for _ in 0..<Int.random(in: 0..<6, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
      }
      _ = SegmentIndex(bytes, at: .random(in: 0...Int64.max, using: &random))
    }
  }
}
