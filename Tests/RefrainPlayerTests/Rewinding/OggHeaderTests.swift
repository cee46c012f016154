// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import RefrainPlayer

/// The memory that the headers of Ogg take, whatever a station sends.
struct OggHeaderTests {
  private let opus = Data(
    oggPage(0, begins: true, Array("OpusHead".utf8) + [UInt8](repeating: 1, count: 11)))
  /// A page of which no packet ends: 65,025 bytes of a cover.
  private let cover = oggPage(-1, [UInt8](repeating: 2, count: 255 * 255))
  private let tags = oggPage(0, Array("OpusTags".utf8) + [UInt8](repeating: 2, count: 600))

  private func sound(_ seconds: Range<Int64>) -> Data {
    seconds.reduce(into: Data()) { $0 += oggPage($1 * 48_000, [UInt8](repeating: 3, count: 700)) }
  }

  private func headerBytes(_ framing: LiveFraming, chains: Int) -> Int {
    (0..<chains).reduce(0) { $0 + (framing.header($1)?.count ?? 0) }
  }

  @Test func `Headers that never end are not kept, and the stream cannot be rewound`() {
    var framing = LiveFraming()
    _ = opus.withUnsafeBytes { framing.take($0) }
    var (sent, most) = (opus.count, 0)
    while !framing.isUnknown, sent < 2 * OggPages.headerLimit {
      #expect(cover.withUnsafeBytes { framing.take($0) } == [])
      sent += cover.count
      most = max(most, headerBytes(framing, chains: 1))
    }
    #expect(framing.isUnknown && sent < OggPages.headerLimit + 2 * cover.count)
    #expect(most <= OggPages.headerLimit && most > OggPages.headerLimit - 2 * cover.count)
    #expect(framing.header(0) == nil && !framing.canContinue && framing.end == .zero)
    #expect(sound(1..<10).withUnsafeBytes { framing.take($0) } == [])
  }

  @Test func `A header just within the limit is kept whole`() {
    var framing = LiveFraming()
    let count = (OggPages.headerLimit - opus.count - tags.count) / cover.count
    var head = opus
    for _ in 0..<count { head += cover }
    head += tags
    #expect(head.withUnsafeBytes { framing.take($0) } == [])
    #expect(sound(1..<3).withUnsafeBytes { framing.take($0) }.count == 2)
    #expect(!framing.isUnknown && framing.header(0) == Array(head))
  }

  @Test func `Covers of many titles take bounded memory, and the latest can be rewound to`() throws
  {
    var ring = LiveRing(keeping: .seconds(7200), blockSize: 64 << 10)
    let (chains, covers) = (40, 16)
    var title = opus
    for _ in 0..<covers { title += cover }
    let head = Array(title + tags)
    title = Data(head) + sound(1..<11)
    var lengthBefore = Duration.zero
    for number in 0..<chains {
      title.withUnsafeBytes { ring.take($0) }
      #expect(headerBytes(ring.framing, chains: number + 1) <= OggPages.headerLimit)
      // Each title lasts as long as the one before, although no header is left of the earliest.
      #expect(ring.framing.end - lengthBefore == .seconds(9))
      lengthBefore = ring.framing.end
    }
    let kept = OggPages.headerLimit / head.count
    let window = try #require(ring.window)
    #expect(kept < chains && window.end == .seconds(9 * chains))
    // The first point of a chain has the time at which the previous one ended.
    #expect(window.start == .seconds(9 * (chains - kept)))
    for position in [Duration.zero, window.start, window.end] {
      let place = try #require(ring.place(at: position))
      #expect(place.header == head && place.point.header >= chains - kept)
    }
  }
}
