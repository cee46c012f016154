// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import RefrainPlayer

/// Pictures that are cut, damaged, or made to be expensive.
@Suite(.timeLimit(.minutes(TestSeed.minutes(1)))) struct HostilePictureTests {
  private typealias Samples = TagSamples

  /// Looks for a picture as a scan does. The look has to end, and what it finds is a picture.
  private func check(_ bytes: [UInt8], _ seed: UInt64) {
    let read = Samples.readPicture(bytes, step: 16 << 10)
    #expect(read.steps < 1000, "REFRAIN_SEED=\(seed)")
    guard let picture = read.picture else { return }
    #expect(PictureFormat(beginning: picture) != nil, "REFRAIN_SEED=\(seed)")
    #expect(picture.count <= EmbeddedPicture.limit, "REFRAIN_SEED=\(seed)")
  }

  @Test func `A file may end anywhere: its picture is whole, or there is none`() {
    let cover = Samples.picture()
    for file in Samples.pictured {
      let places = Array(stride(from: 0, to: min(file.count, 900), by: 3))
      let others = Array(stride(from: 900, to: min(file.count, 34_000), by: 211))
      for count in places + others where count <= file.count {
        let read = Samples.readPicture(Array(file[..<count]), step: 16 << 10)
        #expect(read.picture == nil || read.picture == cover)
      }
    }
  }

  @Test func `Damaged pictures do not crash the parser`() async {
    let seed = TestSeed.next()
    print("HostilePictureTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    let grains: [[UInt8]] = [
      [0xFF, 0xFF, 0xFF, 0xFF], [0x7F, 0x7F, 0x7F, 0x7F], [0, 0, 0, 0], [0, 0, 0, 1], [0x80],
      [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], Array("covr".utf8), Array("data".utf8),
      Array("APIC".utf8), Array("=".utf8), [0xFF, 0xD8, 0xFF],
      Array("ID3".utf8) + [3, 0, 0x80, 0, 0, 0, 1],
    ]
    for round in 0..<(TestSeed.isSoak ? 100_000 : 600) {
      var bytes = Samples.pictured.randomElement(using: &generator) ?? []
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        // Mostly in the heads.
        let place = min(Int.random(in: 0..<400, using: &generator), bytes.count - 1)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: generator.next())
        case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 2: bytes.removeSubrange(place..<min(bytes.count - 1, place + 3))
        default:
          let grain = grains.randomElement(using: &generator) ?? []
          bytes.replaceSubrange(place..<min(bytes.count, place + grain.count), with: grain)
        }
      }
      check(bytes, seed)
      if round % 50 == 0 { await Task.yield() }
    }
  }

  @Test func `Anything behind a head of any format ends soon`() {
    let seed = TestSeed.next()
    print("HostilePictureTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    let garbage = (0..<(256 << 10)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    let zeros = [UInt8](repeating: 0, count: 256 << 10)
    for file in Samples.pictured {
      for tail in [garbage, zeros] {
        for count in [12, 20, 40, 100] { check(Array(file.prefix(count)) + tail, seed) }
      }
    }
    for count in [0, 1, 11, 12, 13, 5000] { check(Array(garbage.prefix(count)), seed) }
  }

  /// Media whose lengths lie, and comments that are no pictures.
  private static let lies: [[UInt8]] = {
    let nothing = [UInt8](repeating: 0, count: 16)
    let head: [UInt8] = Samples.big(3, 4) + Samples.big(0, 4) + Samples.big(0, 4) + nothing
    let tooLong: [UInt8] = head + Samples.big(1 << 24, 4) + [0xFF, 0xD8, 0xFF]
    let ones = [UInt8](repeating: 0xFF, count: 40)
    let frame: [UInt8] = Array("APIC".utf8) + [0x7F, 0xFF, 0xFF, 0xFF, 0, 0] + Samples.noise(100)
    return [
      Array("fLaC".utf8) + Samples.block(6, ones),
      Array("fLaC".utf8) + Samples.block(6, tooLong),
      Samples.id3(frame, version: 3),
      Samples.mp4(covers: [[]]),
      Samples.ogg(.vorbis, extra: ["METADATA_BLOCK_PICTURE="]),
      Samples.ogg(.vorbis, extra: ["METADATA_BLOCK_PICTURE=!!!!"]),
      Samples.ogg(.vorbis, pictures: [ones]),
    ]
  }()

  @Test func `Lengths that lie lead to no picture`() {
    for file in Self.lies {
      #expect(Samples.readPicture(file, step: 16 << 10).picture == nil)
    }
  }
}
