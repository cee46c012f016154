// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

@testable import RefrainPlayer

/// The byte at which a decoder begins in a live stream that was joined anywhere.
struct LiveOpeningTests {
  /// Feeds bytes in pieces of random lengths until the place is known.
  private func search(_ bytes: Data, seed: UInt64 = 1) throws -> LiveOpening {
    var opening = try #require(LiveOpening(mimeType: "audio/mpeg"))
    var generator = SeededGenerator(seed: seed)
    var rest = Array(bytes)[...]
    while opening.start == nil, !rest.isEmpty {
      let piece = rest.prefix(Int.random(in: 1...900, using: &generator))
      piece.withUnsafeBytes { opening.take($0) }
      rest = rest.dropFirst(piece.count)
    }
    return opening
  }

  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func `A stream that begins within a frame is decoded from the next one`(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let cut = Int.random(in: 1..<SilentMP3.frameLength, using: &generator)
    let opening = try search(Data(NumberedFrames.mp3(0..<20).dropFirst(cut)), seed: seed)
    #expect(opening.start == Int64(SilentMP3.frameLength - cut))
    // Three headers decide.
    #expect(opening.length < Int64(4 * SilentMP3.frameLength + 900))
  }

  @Test func `A stream that begins with a frame or a tag is decoded from its first byte`() throws {
    #expect(try search(NumberedFrames.mp3(0..<20)).start == 0)
    var tagged = Data("ID3".utf8)
    tagged.append(contentsOf: [4, 0, 0, 0, 0, 0, 100])
    tagged.append(Data(repeating: 32, count: 100))
    tagged.append(NumberedFrames.mp3(0..<20))
    #expect(try search(tagged).start == 0)
  }

  @Test(arguments: [Array("OggS".utf8), Array("fLaC".utf8), [0x1A, 0x45, 0xDF, 0xA3]])
  func `A stream with another type than its server states is not searched`(
    _ beginning: [UInt8]
  ) throws {
    let opening = try search(Data(beginning) + Data(repeating: 1, count: 100_000))
    #expect(opening.start == 0 && opening.length < 5000)
  }

  @Test func `A stream without frames is decoded from its first byte`() throws {
    let opening = try search(Data(repeating: 1, count: 100_000))
    #expect(opening.start == 0 && opening.length < 40_000)
    var ended = try #require(LiveOpening(mimeType: "audio/aacp"))
    [1, 2, 3 as UInt8].withUnsafeBytes { ended.take($0) }
    #expect(ended.start == nil)
    [UInt8]().withUnsafeBytes { ended.take($0) }
    #expect(ended.start == 0)
  }

  @Test(arguments: [nil, "audio/ogg", "application/octet-stream", "video/mp2t"])
  func `Streams of other types begin as they are`(_ type: String?) {
    #expect(LiveOpening(mimeType: type) == nil)
  }
}
