// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1)))
struct RecordParsingTests {
  private static let texts = [
    "", "a", "http://h/ä?b=1&c=\"2\"", "\"tag\"", "W/\"x\\y\"", "音楽", "line\nbreak", "\u{7F}\u{1}",
    "a/b", "\u{1F3B5} e\u{301}",
  ]

  private func record(_ random: inout SeededGenerator) -> EntryRecord {
    func text() -> String { Self.texts.randomElement(using: &random) ?? "" }
    func maybe<Value>(_ value: @autoclosure () -> Value) -> Value? {
      Bool.random(using: &random) ? value() : nil
    }
    func date() -> Date {
      Date(timeIntervalSinceReferenceDate: .random(in: -1e9...1e9, using: &random))
    }
    var freshness = Freshness(
      confirmedAt: date(), initialAge: .random(in: 0...1e-5, using: &random),
      lifetime: [0, 60, 1e22, 0.5].randomElement(using: &random) ?? 0,
      mustRevalidate: .random(using: &random), noStore: .random(using: &random))
    freshness.isGuessed = maybe(.random(using: &random))
    freshness.isOutdated = maybe(.random(using: &random))
    freshness.mayDifferByCookies = maybe(.random(using: &random))
    freshness.isBounded = maybe(.random(using: &random))
    freshness.staleWhileRevalidate = maybe(60)
    freshness.staleIfError = maybe(1e5)
    freshness.confirmedUptime = maybe(Uptime(seconds: 1234.5678, boot: text()))
    var validator = Validator(
      etag: maybe(text()), lastModified: maybe(text()),
      isStrongLastModified: .random(using: &random))
    validator.isLateETag = maybe(.random(using: &random))
    validator.replacements = maybe(3)
    return EntryRecord(
      key: text(), url: text(), finalURL: text(), generation: "abc", file: "abc.mp3",
      length: maybe(.random(in: 100...Int64.max, using: &random)), mimeType: maybe(text()),
      supportsRanges: .random(using: &random), validator: validator, freshness: freshness,
      headers: maybe([text(), text()]), variant: maybe(text()),
      isSharable: maybe(.random(using: &random)), invalidatedAt: maybe(date()),
      spans: maybe([0, 5, 7, 90]) ?? [], epoch: .random(in: 0...9, using: &random))
  }

  @Test func `A record that the parser accepts decodes equally with JSONDecoder`() throws {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    var accepted = 0
    for _ in 0..<2000 {
      let written = record(&random)
      let bytes = try written.encoded()
      if let parsed = EntryRecord(parsing: bytes) {
        accepted += 1
        #expect(parsed == written, "seed \(seed)")
      }
      // The same bytes, damaged in one place.
      var damaged = bytes
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: damaged.remove(at: place)
      case 1: damaged[place] = bytes.randomElement(using: &random) ?? 0
      default: damaged.insert(bytes.randomElement(using: &random) ?? 0, at: place)
      }
      if let parsed = EntryRecord(parsing: damaged) {
        let decoded = try JSONDecoder().decode(EntryRecord.self, from: Data(damaged))
        #expect(parsed == decoded, "seed \(seed): \(String(decoding: damaged, as: UTF8.self))")
      }
    }
    // Only records with rare escapes are left to the other parser.
    #expect(accepted > 200, "seed \(seed)")
  }

  private func plain() throws -> EntryRecord {
    EntryRecord(
      key: "k", url: "http://h/a", finalURL: "http://h/a", generation: "abc", file: "abc.mp3",
      length: 9, mimeType: nil, supportsRanges: true, validator: Validator(etag: "\"a\""),
      freshness: Freshness(confirmedAt: Date(timeIntervalSince1970: 1_700_000_000), lifetime: 60),
      spans: [0, 5], epoch: 3)
  }

  @Test func `The parser reads an encoded record without JSONDecoder`() throws {
    let record = try plain()
    #expect(try EntryRecord(parsing: record.encoded()) == record)
    let (read, spans) = try EntryRecord.decode(record.encoded())
    #expect(read == record && spans == RangeSet(0..<5))
  }

  @Test func `An older record has no headers, variant or invalidation`() throws {
    let read = try EntryRecord.decode(plain().encoded()).0
    #expect(read.storedHeaders.isEmpty && read.variant == nil && read.invalidatedAt == nil)
    #expect(read.isSharable == nil)
  }

  @Test func `Headers are stored in order, and a name without a value is ignored`() throws {
    var record = try plain()
    record.headers = ["X-A", "1", "Vary", "Accept", "X-B"]
    let read = try EntryRecord.decode(record.encoded()).0
    #expect(read.storedHeaders.fields.map(\.name) == ["X-A", "Vary"])
    #expect(read.storedHeaders["Vary"] == "Accept")
  }

  @Test(arguments: [
    ("{\"epoch\"", "{ \"epoch\""), ("\"key\":\"k\"", "\"key\":\"\\u006b\""),
    ("\"length\":9", "\"length\":9,\"mimeType\":null"), ("\"length\":9", "\"length\":9.0"),
    ("\"length\":9", "\"length\":9,\"later\":[{\"member\":1}]"),
  ])
  func `JSON that the parser rejects is still decoded`(_ old: String, _ new: String) throws {
    let text = String(decoding: try plain().encoded(), as: UTF8.self)
    let other = text.replacing(old, with: new)
    #expect(other != text)
    #expect(EntryRecord(parsing: [UInt8](other.utf8)) == nil)
    #expect(try EntryRecord.decode([UInt8](other.utf8)).0 == plain())
  }

  @Test(arguments: [
    "{\"epoch\":03", "{\"epoch\":-0", "{\"epoch\":99999999999999999999", "{\"epoch\":3,\"epoch\":3",
    "{\"epoch\":3.", "[\"epoch\":3", "{\"epoch\":true",
  ])
  func `The parser rejects invalid JSON and numbers out of range`(_ start: String) throws {
    let text = String(decoding: try plain().encoded(), as: UTF8.self)
    #expect(text.hasPrefix("{\"epoch\":3,"))
    let damaged = start + text.dropFirst("{\"epoch\":3".count)
    #expect(EntryRecord(parsing: [UInt8](damaged.utf8)) == nil)
    #expect(EntryRecord(parsing: [UInt8](text.utf8.dropLast())) == nil)
    #expect(EntryRecord(parsing: [UInt8](text.utf8) + [0x20]) == nil)
  }

  @Test(arguments: ["1e-906", "1e906", "1e-310", "0.0"])
  func `The parser leaves numbers near zero and out of range to JSONDecoder`(
    _ lifetime: String
  ) throws {
    let text = String(decoding: try plain().encoded(), as: UTF8.self)
    let other = text.replacing("\"lifetime\":60", with: "\"lifetime\":\(lifetime)")
    #expect(other != text)
    #expect(EntryRecord(parsing: [UInt8](other.utf8)) == nil)
  }
}
