// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import TestSupport

@Suite struct ICYTests {
  private static func block(_ text: some Sequence<UInt8>) -> [UInt8] {
    let bytes = Array(text)
    let units = (bytes.count + 15) / 16
    return [UInt8(units)] + bytes + [UInt8](repeating: 0, count: units * 16 - bytes.count)
  }

  private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

  // MARK: The demultiplexer

  @Test func `Audio and titles do not depend on how the body is split`() {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let interval = Int.random(in: 1...40, using: &random)
      var audio: [UInt8] = []
      var body: [UInt8] = []
      var titles: [Int64: String] = [:]
      for index in 0..<Int.random(in: 1...30, using: &random) {
        let part = (0..<interval).map { _ in UInt8.random(in: 0...255, using: &random) }
        audio += part
        body += part
        guard Int.random(in: 0..<3, using: &random) == 0 else {
          body.append(0)
          continue
        }
        // The longest block is 4080 bytes.
        let long = Int.random(in: 0..<10, using: &random) == 0 ? 4000 : 5
        let title = "\(index) " + String(repeating: "x", count: long)
        titles[Int64(audio.count)] = title
        body += Self.block(Self.text("StreamTitle='\(title)';"))
      }
      let tail = (0..<Int.random(in: 0..<interval, using: &random)).map { UInt8($0) }
      audio += tail
      body += tail

      var demultiplexer = ICYDemultiplexer(interval: Int64(interval))
      var found: (audio: Data, metadata: [ICYMetadata]) = (Data(), [])
      var rest = Data(body)
      while !rest.isEmpty {
        let part = rest.prefix(Int.random(in: 1...(body.count / 2 + 1), using: &random))
        let next = demultiplexer.take(part)
        found.audio += next.audio
        found.metadata += next.metadata
        rest = rest.dropFirst(part.count)
      }
      #expect(found.audio == Data(audio), "seed \(seed)")
      let told = Dictionary(uniqueKeysWithValues: found.metadata.map { ($0.offset, $0.title) })
      #expect(told == titles.mapValues { $0 }, "seed \(seed)")
      #expect(demultiplexer.isBetweenBlocks && demultiplexer.offset == Int64(audio.count))
    }
  }

  @Test func `A body that ends inside a metadata block is detected`() {
    var demultiplexer = ICYDemultiplexer(interval: 2)
    let (audio, metadata) = demultiplexer.take(Data([1, 2, 1, 65]))
    #expect(audio == Data([1, 2]) && metadata.isEmpty)
    #expect(!demultiplexer.isBetweenBlocks)
  }

  // MARK: Blocks

  @Test(arguments: [
    ("StreamTitle='A - B';StreamUrl='http://x/';", "A - B", "http://x/"),
    ("StreamUrl='http://x/';StreamTitle='A - B';", "A - B", "http://x/"),
    ("streamtitle='Don't stop';", "Don't stop", nil),
    ("StreamTitle='It's 'quoted'';", "It's 'quoted'", nil),
    ("StreamTitle='a='b';", "a='b", nil),
    ("StreamTitle='';", "", nil),
    ("StreamTitle='no end'", "no end", nil),
    ("StreamTitle='cut of", "cut of", nil),
    ("StreamTitle='a; b';adw_ad='true';durationMilliseconds='1';", "a; b", nil),
    ("StreamTitle='first';StreamTitle='second';", "first", nil),
    ("StreamTitle='bell\u{7}\u{1b}[31m';", "bell  [31m", nil),
    ("StreamTitle=unquoted;", nil, nil),
    ("';';='=''", nil, nil),
    ("Grüße", nil, nil),
    ("StreamTitle='Grüße 日本';", "Grüße 日本", nil),
  ]) func `A metadata block gives its title and URL`(
    _ text: String, _ title: String?, _ url: String?
  ) {
    let metadata = ICYMetadata(Self.text(text) + [0, 0])
    #expect(metadata.title == title)
    #expect(metadata.url == url)
  }

  @Test func `A title that is not UTF-8 is read as Latin-1`() {
    let bytes = Self.text("StreamTitle='Gr") + [0xFC, 0xDF, 0x65] + Self.text("';")
    #expect(ICYMetadata(bytes).title == "Grüße")
  }

  @Test func `Random metadata blocks do not crash the parser`() {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    let alphabet = Self.text("StreamTitle='';=\u{0}") + [0xFF, 0xC3]
    for _ in 0..<2000 {
      let count = Int.random(in: 0...80, using: &random)
      let bytes = (0..<count).map { _ in
        alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
      }
      let title = ICYMetadata(bytes).title
      #expect(title.map { $0.utf8.count <= 2 * bytes.count } != false, "seed \(seed)")
    }
  }

  // MARK: Answers

  @Test func `An icy-metaint value selects how the body is read`() throws {
    func interval(_ values: String...) throws -> Int64? {
      var headers = HeaderFields(values.map { ("ICY-MetaInt", $0) })
      defer { #expect(headers.isEmpty) }
      return try ICYFields.takeInterval(&headers)
    }
    #expect(try interval("8192") == 8192)
    #expect(try interval(" 1 ") == 1)
    for none in [try interval(), try interval("0")] { #expect(none == nil) }
    for value in [
      "16000, 16000", "-1", "8192, 16000", "many", "", "99999999999999999999",
      "9223372036854775807",
    ] {
      #expect(throws: MediaCacheError.self) { try interval(value) }
    }
    // A request without the field receives the body as it is.
    for request: HeaderFields in [[:], ["Icy-MetaData": "0"]] {
      #expect(!ICYFields.isAsked(request))
    }
  }

  // MARK: Titles

  private static func note(_ title: String, _ offset: Int64) -> ICYMetadata {
    ICYMetadata(text("StreamTitle='\(title)';"), at: offset)
  }

  @Test func `A title applies from its offset to the next title`() {
    var titles = StreamTitles()
    #expect(titles.title(at: 0) == nil)
    let station = StreamStation(["icy-name": "Radio", "icy-br": "128"])
    #expect(titles.begin(station) == StreamTitle(station: station))
    #expect(titles.begin(station) == nil)
    #expect(titles.note(Self.note("A", 100))?.title == "A")
    #expect(titles.note(Self.note("A", 200)) == nil)
    #expect(titles.note(Self.note("B", 300))?.offset == 300)
    #expect(titles.note(Self.note("", 400))?.title == nil)
    #expect(
      [0, 99, 100, 299, 300, 399, 400].map { titles.title(at: $0)?.title }
        == [nil, nil, "A", "A", "B", "B", nil])
    #expect(titles.title(at: .max)?.station.bitrate == 128)
  }

  @Test func `The number of kept titles is bounded`() {
    var titles = StreamTitles()
    for index in 0..<10_000 { _ = titles.note(Self.note("\(index)", Int64(index) * 10)) }
    #expect(titles.all.count == StreamTitles.most)
    #expect(titles.title(at: 99_999)?.title == "9999" && titles.title(at: 0) == nil)
  }
}
