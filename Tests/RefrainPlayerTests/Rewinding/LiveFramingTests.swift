// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

@testable import RefrainPlayer

/// The places in live bytes at which a decoder can start, and their times.
struct LiveFramingTests {
  /// Feeds bytes in pieces of random lengths.
  private func points(_ bytes: Data, seed: UInt64, into framing: inout LiveFraming) -> [LivePoint] {
    var generator = SeededGenerator(seed: seed)
    var (points, rest) = ([LivePoint](), Array(bytes)[...])
    while !rest.isEmpty {
      let piece = rest.prefix(Int.random(in: 1...900, using: &generator))
      points += piece.withUnsafeBytes { framing.take($0) }
      rest = rest.dropFirst(piece.count)
    }
    return points
  }

  private func isNear(_ one: Duration, _ other: Duration) -> Bool {
    abs((one - other).inSeconds) < 0.000_001
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `Every frame of MP3 is a point, however the bytes arrive`(_ seed: UInt64) {
    var framing = LiveFraming()
    let found = points(NumberedFrames.mp3(0..<200), seed: seed, into: &framing)
    let offsets: [Int64] = (0..<200).map { Int64($0 * SilentMP3.frameLength) }
    #expect(found.map(\.offset) == offsets)
    for (index, point) in found.enumerated() {
      #expect(isNear(point.time, .nanoseconds(1_152_000_000_000 * index / 44_100)))
    }
    #expect(isNear(framing.end, .nanoseconds(1_152_000_000_000 * 200 / 44_100)))
    #expect(framing.canContinue && framing.header(0) == [])
  }

  @Test func `A stream that begins or breaks off inside a frame is found again`() {
    var framing = LiveFraming()
    let cut = NumberedFrames.mp3(0..<20).dropFirst(100)
    let bytes = cut.dropLast(50) + NumberedFrames.mp3(50..<70)
    let found = points(Data(bytes), seed: 6, into: &framing)
    let frame = SilentMP3.frameLength
    let first = (0..<19).map { Int64($0 * frame + frame - 100) }
    let second = (0..<20).map { Int64(20 * frame - 150 + $0 * frame) }
    // The frame that is cut off seems to reach into the one after it.
    let expected: [Int64] = first + second.dropFirst()
    #expect(found.map(\.offset) == expected)
  }

  @Test func `Frames of AAC are found by the lengths in their headers`() {
    var bytes = Data()
    var offsets: [Int64] = []
    for index in 0..<60 {
      let length = 100 + index
      offsets.append(Int64(bytes.count))
      // 44.1 kHz, stereo, one block of 1024 samples.
      bytes.append(contentsOf: [
        0xFF, 0xF1, 0x50, 0x80 | UInt8(length >> 11), UInt8(length >> 3 & 0xFF),
        UInt8(length & 7) << 5 | 0x1F, 0xFC,
      ])
      bytes.append(Data(repeating: 7, count: length - 7))
    }
    var framing = LiveFraming()
    #expect(points(bytes, seed: 7, into: &framing).map(\.offset) == offsets)
    #expect(isNear(framing.end, .nanoseconds(1_024_000_000_000 * 60 / 44_100)))
  }

  @Test func `Pages of Ogg have the headers of their chained stream and its times`() {
    let opus = Array("OpusHead".utf8) + [UInt8](repeating: 1, count: 11)
    let tags = Array("OpusTags".utf8) + [UInt8](repeating: 2, count: 600)
    var (bytes, offsets) = (Data(), [Int64]())
    // A station is joined in the middle.
    for start in [1_000_000, 0] as [Int64] {
      bytes += oggPage(0, begins: true, opus) + oggPage(0, tags)
      for index in 1...10 as ClosedRange<Int64> {
        offsets.append(Int64(bytes.count))
        bytes += oggPage(start + index * 48_000, [UInt8](repeating: 3, count: 700))
      }
    }
    var framing = LiveFraming()
    let found = points(bytes, seed: 8, into: &framing)
    #expect(found.map(\.offset) == offsets)
    let headers = Array(repeating: 0, count: 10) + Array(repeating: 1, count: 10)
    #expect(found.map(\.header) == headers)
    // The first page of a stream only says where it is.
    let seconds: [Int] = [0, 0] + Array(1...9) + [9] + Array(10...17)
    let times: [Duration] = seconds.map { .seconds($0) }
    #expect(found.map(\.time) == times)
    #expect(framing.end == .seconds(18))
    #expect(framing.header(1) == Array(oggPage(0, begins: true, opus) + oggPage(0, tags)))
  }

  @Test func `Headers of Ogg may be longer than a page`() {
    let opus = Array("OpusHead".utf8) + [UInt8](repeating: 1, count: 11)
    // With a cover: no packet ends on the first two of three pages.
    let tags = Array("OpusTags".utf8) + [UInt8](repeating: 2, count: 150_000)
    let head =
      oggPage(0, begins: true, opus) + oggPage(-1, Array(tags[..<65_025]))
      + oggPage(-1, Array(tags[65_025..<130_050])) + oggPage(0, Array(tags[130_050...]))
    var bytes = head
    for second in 0..<10 as Range<Int64> {
      bytes += oggPage(1_000_000_000 + second * 48_000, [UInt8](repeating: 3, count: 700))
    }
    var framing = LiveFraming()
    let found = points(bytes, seed: 17, into: &framing)
    #expect(framing.header(0) == Array(head))
    #expect(found.count == 10 && found.first?.offset == Int64(head.count))
    #expect(framing.end == .seconds(9))
  }

  @Test func `A stream of Ogg that breaks off inside a page goes on with its next response`() {
    let opus = Array("OpusHead".utf8) + [UInt8](repeating: 1, count: 11)
    let tags = Array("OpusTags".utf8) + [UInt8](repeating: 2, count: 600)
    let head = oggPage(0, begins: true, opus) + oggPage(0, tags)
    func sound(_ start: Int64) -> Data {
      (1...10 as ClosedRange<Int64>).reduce(into: Data()) {
        $0 += oggPage(start + $1 * 48_000, [UInt8](repeating: 3, count: 700))
      }
    }
    // The rest of the page reaches beyond the headers, or into them.
    for cut in [20, 50, 400, 700] {
      var framing = LiveFraming()
      let half = oggPage(11 * 48_000, [UInt8](repeating: 3, count: 700)).prefix(cut)
      let first = head + sound(0) + half
      #expect(points(first, seed: 13, into: &framing).count == 10)
      #expect(framing.end == .seconds(9))
      framing.breakOff()
      let found = points(head + sound(1_000_000_000), seed: 14, into: &framing)
      let headers = Array(repeating: 1, count: 10)
      #expect(found.map(\.header) == headers)
      #expect(found.first?.offset == Int64(first.count + head.count))
      #expect(framing.header(1) == Array(head) && framing.end == .seconds(18))
    }
  }

  @Test func `A stream of MP3 that breaks off inside a frame goes on with its next response`() {
    var framing = LiveFraming()
    let first = NumberedFrames.mp3(0..<20).dropLast(50)
    #expect(points(Data(first), seed: 15, into: &framing).count == 20)
    framing.breakOff()
    let found = points(NumberedFrames.mp3(50..<70), seed: 16, into: &framing)
    let offsets: [Int64] = (0..<20).map { Int64(first.count + $0 * SilentMP3.frameLength) }
    #expect(found.map(\.offset) == offsets)
    #expect(isNear(framing.end, NumberedFrames.frame * 40))
  }

  /// The first packet of Vorbis, with its samples per second.
  private func vorbis(_ rate: UInt32) -> [UInt8] {
    var packet = [1] + Array("vorbis".utf8) + [UInt8](repeating: 0, count: 23)
    for index in 0..<4 { packet[12 + index] = UInt8(truncatingIfNeeded: rate >> (8 * index)) }
    return packet
  }

  @Test func `Sound beside a picture in Ogg has its own points and times`() {
    let theora = [0x80] + Array("theora".utf8) + [UInt8](repeating: 1, count: 35)
    let picture = [UInt8](repeating: 4, count: 900)
    let sound = [UInt8](repeating: 3, count: 700)
    let head =
      oggPage(0, begins: true, of: 7, theora) + oggPage(0, begins: true, of: 9, vorbis(44_100))
      + oggPage(0, of: 7, picture) + oggPage(0, of: 9, sound)
    var (bytes, offsets) = (Data(), [Int64]())
    for _ in 0..<2 {
      bytes += head
      for second in 1...10 as ClosedRange<Int64> {
        bytes += oggPage(second * 25 << 6, of: 7, picture)
        offsets.append(Int64(bytes.count))
        bytes += oggPage(second * 44_100, of: 9, sound)
        bytes += oggPage(second * 25 << 6 + 12, of: 7, picture)
      }
    }
    var framing = LiveFraming()
    let found = points(bytes, seed: 20, into: &framing)
    let headers = Array(repeating: 0, count: 10) + Array(repeating: 1, count: 10)
    #expect(found.map(\.offset) == offsets && found.map(\.header) == headers)
    #expect(framing.header(0) == Array(head) && framing.header(1) == Array(head))
    #expect(framing.end == .seconds(18))
  }

  @Test func `Times that jump in Ogg do not count, however far`() {
    var framing = LiveFraming()
    var bytes = Data()
    for rate in [1, 44_100, .max, 1] as [UInt32] {
      bytes += oggPage(0, begins: true, vorbis(rate))
      for granule in [1, .max, 0, .max, 5, .max - 1, .min] as [Int64] {
        bytes += oggPage(granule, [UInt8](repeating: 3, count: 9))
      }
    }
    #expect(points(bytes, seed: 12, into: &framing).count == 28)
    #expect(framing.end == .zero)
  }

  @Test func `Sound in WAV begins at whole samples`() {
    var framing = LiveFraming()
    let wav = NumberedFrames.wav(seconds: 3)
    let found = points(wav, seed: 9, into: &framing)
    let offsets: [Int64] = (0..<12).map { Int64(44 + $0 * 4000) }
    let times: [Duration] = (0..<12).map { .milliseconds($0 * 250) }
    #expect(found.map(\.offset) == offsets && found.map(\.time) == times)
    #expect(framing.end == .seconds(3) && framing.header(0) == Array(wav.prefix(44)))
  }

  @Test func `Ogg of another codec, or without a beginning, has no points`() {
    let sound = oggPage(48_000, [UInt8](repeating: 3, count: 700))
    let head = oggPage(0, begins: true, Array("Speex   1.2".utf8)) + oggPage(0, [1])
    var framing = LiveFraming()
    #expect(points(head, seed: 18, into: &framing) == [] && !framing.isUnknown)
    for bytes in [head + sound, sound] {
      framing = LiveFraming()
      #expect(points(bytes, seed: 19, into: &framing) == [] && framing.isUnknown)
      #expect(framing.end == .zero && !framing.canContinue)
    }
  }

  @Test func `Bytes of no known format have no points`() {
    var framing = LiveFraming()
    var generator = SeededGenerator(seed: 10)
    let noise = Data((0..<100_000).map { _ in UInt8.random(in: 0...254, using: &generator) })
    #expect(points(noise, seed: 11, into: &framing) == [] && framing.isUnknown)
    #expect(framing.end == .zero && !framing.canContinue)
  }
}
