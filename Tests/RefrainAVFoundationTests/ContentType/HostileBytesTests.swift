// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import RefrainAVFoundation

/// Arbitrary bytes: sniffing returns, and does not detect media in noise.
@Suite struct HostileBytesTests {
  /// A truncated beginning is recognised as its own format or not at all: never as another format,
  /// except for a tag that is still alone.
  @Test(arguments: SniffedTypeTests.known)
  func `A truncated file is never taken for an unrelated type`(
    _ file: NamedBytes
  ) async {
    let (name, bytes, type) = (file.name, file.bytes, file.type)
    for count in 0...min(bytes.count, 2200) {
      let found = ContentType.sniffed(bytes.prefix(count))
      let early: [String?] = bytes.starts(with: MediaBytes.text("ID3")) ? ["public.mp3"] : []
      #expect(
        found == nil || found == type || early.contains(found), "\(name), \(count) bytes")
      if count % 100 == 0 { await Task.yield() }
    }
  }

  @Test func `Random bytes are hardly ever taken for media`() async {
    let seed = TestSeed.next()
    print("HostileBytesTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    var found: [String: Int] = [:]
    let noise = generator.bytes(TestSeed.isSoak ? 200_000 : 60_000)
    for start in 0..<(noise.count - 4100) {
      if let type = ContentType.sniffed(noise[start..<(start + 4100)]) {
        found[type, default: 0] += 1
      }
      if start % 1000 == 0 { await Task.yield() }
    }
    // A header of MP3 or ADTS is at one position in 10,000, an ID3 tag at one in 270 million.
    #expect(Set(found.keys).isSubset(of: ["public.mp3", "public.aac-audio"]), "\(found), \(seed)")
    #expect(found.values.reduce(0, +) <= noise.count / 1000, "\(found), REFRAIN_SEED=\(seed)")
  }

  @Test func `Damaged and random first bytes never trap`() async {
    let seed = TestSeed.next()
    print("HostileBytesTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    let known = SniffedTypeTests.known.map { Array($0.bytes.prefix(2000)) }
    for round in 0..<5_000 {
      var bytes = known[round % known.count]
      for _ in 0..<(1 + generator.next() % 8) where !bytes.isEmpty {
        // Most of the inspected bytes are at the beginning.
        let place = Int(generator.next() % UInt64(min(bytes.count, 48)))
        bytes[place] =
          [0, 0x7F, 0x80, 0xFF, UInt8(truncatingIfNeeded: generator.next())][
            Int(generator.next() % 5)]
      }
      let count = Int(generator.next() % UInt64(bytes.count + 1))
      _ = ContentType.sniffed(bytes)
      _ = ContentType.sniffed(bytes.prefix(count))
      _ = ContentType.sniffed(generator.bytes(Int(generator.next() % 64)))
      if round % 100 == 0 { await Task.yield() }
    }
  }

  @Test func `Random MIME types and extensions yield no unexpected type and never trap`() {
    let seed = TestSeed.next()
    print("HostileBytesTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    let grains = ["audio", "/", "mpeg", ";", " ", "=", "\"", "é", "\u{0}", "mp3", "\r\n", "🎵"]
    for _ in 0..<2000 {
      let text = (0..<(generator.next() % 8)).map { _ in
        grains[Int(generator.next() % UInt64(grains.count))]
      }.joined()
      let type = ContentType.declared(mimeType: text, pathExtension: text)
      #expect(
        type == nil || type == "public.mp3" || type == "public.mpeg", "\(text.debugDescription)")
    }
    let long = String(repeating: "audio/", count: 20_000)
    #expect(ContentType.declared(mimeType: long, pathExtension: long) == nil)
  }
}

extension SeededGenerator {
  fileprivate mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }
}
