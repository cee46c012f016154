// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import RefrainPlayer

/// Tags that are cut, damaged, or made to be expensive.
@Suite(.timeLimit(.minutes(TestSeed.minutes(1)))) struct HostileTagTests {
  private typealias Samples = TagSamples

  /// Parses bytes as a look does. The result has to be displayable, and the parser has to end.
  private func check(_ bytes: [UInt8], _ seed: UInt64) {
    let read = Samples.read(bytes, step: TagLookup.step)
    #expect(read.steps < 300, "REFRAIN_SEED=\(seed)")
    for text in [read.tags?.title, read.tags?.artist, read.tags?.album].compactMap(\.self) {
      #expect(text.unicodeScalars.count <= 1000, "REFRAIN_SEED=\(seed)")
    }
  }

  @Test func `Every sample has its tags before it is damaged`() {
    for file in Samples.all { #expect(Samples.read(file).tags?.artist == Samples.artist) }
  }

  @Test func `A file may end anywhere`() {
    for file in Samples.all {
      for count in stride(from: 0, to: min(file.count, 900), by: 5) {
        check(Array(file[..<count]), 0)
      }
    }
  }

  @Test func `Damaged tags do not crash the parser`() async {
    let seed = TestSeed.next()
    print("HostileTagTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    let grains: [[UInt8]] = [
      [0xFF, 0xFF, 0xFF, 0xFF], [0x7F, 0x7F, 0x7F, 0x7F], [0, 0, 0, 0], [0, 0, 0, 1], [0x80],
      [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], Array("moov".utf8), Array("OggS".utf8),
      Array("TIT2".utf8), Array("LIST".utf8), Array("ID3".utf8) + [4, 0, 0x40, 0, 0, 0, 1],
    ]
    for round in 0..<(TestSeed.isSoak ? 200_000 : 1_000) {
      var bytes = Samples.all.randomElement(using: &generator) ?? []
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        // Mostly where the tags are.
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
      if round % 100 == 0 { await Task.yield() }
    }
  }

  @Test func `Much of anything behind a head of any format ends soon`() {
    let seed = TestSeed.next()
    print("HostileTagTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    let part = (0..<(64 << 10)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    let garbage = Array(repeatElement(part, count: 4).joined())
    let zeros = [UInt8](repeating: 0, count: 256 << 10)
    let letters = [UInt8](repeating: 0x41, count: 256 << 10)
    for file in Samples.all {
      for tail in [garbage, zeros, letters] {
        for count in [12, 20, 40, 100] { check(Array(file.prefix(count)) + tail, seed) }
      }
    }
  }

  @Test(arguments: [
    // Boxes of no size, and of the largest.
    TagSamples.box("ftyp", [0, 0, 0, 0]) + [0, 0, 0, 1] + Array("moov".utf8)
      + [UInt8](repeating: 0xFF, count: 8),
    TagSamples.box("ftyp", [0, 0, 0, 0]) + [0, 0, 0, 1] + Array("free".utf8)
      + [0x7F] + [UInt8](repeating: 0xFF, count: 7) + [UInt8](repeating: 0, count: 99),
    TagSamples.box("ftyp", [0, 0, 0, 0]) + [0, 0, 0, 0] + Array("moov".utf8)
      + [UInt8](repeating: 0, count: 99),
    // A comment that is longer than the file, and very many of them.
    Array("fLaC".utf8) + TagSamples.block(4, TagSamples.little(1 << 32 - 1, 4)),
    Array("fLaC".utf8)
      + TagSamples.block(
        4,
        TagSamples.little(0, 4) + TagSamples.little(1 << 32 - 1, 4)
          + [UInt8](repeating: 0, count: 60_000)),
    // Frames of no size.
    TagSamples.id3(
      Array((0..<5000).map { _ in Array("TXXX".utf8) + [0, 0, 0, 0, 0, 0] }.joined()), version: 4),
    // Pages of no size.
    Array((0..<5000).map { _ in Array("OggS".utf8) + [UInt8](repeating: 0, count: 23) }.joined()),
  ]) func `Lengths that lie, and endless lists, end soon`(_ file: [UInt8]) {
    #expect(Samples.read(file, step: TagLookup.step).tags == nil)
    check(file, 0)
  }
}
