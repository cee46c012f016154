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
    validator.isLateLastModified = maybe(.random(using: &random))
    validator.replacements = maybe(3)
    return EntryRecord(
      key: text(), url: text(), finalURL: text(), generation: "abc", file: "abc.mp3",
      length: maybe(.random(in: 100...Int64.max, using: &random)), mimeType: maybe(text()),
      supportsRanges: .random(using: &random), validator: validator, freshness: freshness,
      headers: maybe([text(), text()]) ?? [], variant: maybe(text()),
      isSharable: .random(using: &random), invalidatedAt: maybe(date()),
      spans: maybe([0..<5, 7..<90]) ?? [], epoch: .random(in: 0...9, using: &random))
  }

  @Test func `A record is read as it was written`() throws {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let written = record(&random)
      let read = try EntryRecord.decode(written.encoded())
      #expect(read == written, "seed \(seed)")
    }
  }

  private func plain() throws -> EntryRecord {
    EntryRecord(
      key: "k", url: "http://h/a", finalURL: "http://h/a", generation: "abc", file: "abc.mp3",
      length: 9, mimeType: nil, supportsRanges: true, validator: Validator(etag: "\"a\""),
      freshness: Freshness(confirmedAt: Date(timeIntervalSince1970: 1_700_000_000), lifetime: 60),
      spans: [0..<5], epoch: 3)
  }

  @Test func `Headers are stored in order, and a name without a value is ignored`() throws {
    var record = try plain()
    record.headers = ["X-A", "1", "Vary", "Accept", "X-B"]
    let read = try EntryRecord.decode(record.encoded())
    #expect(read.storedHeaders.fields.map(\.name) == ["X-A", "Vary"])
    #expect(read.storedHeaders["Vary"] == "Accept")
  }

  @Test(arguments: [
    ("{\"epoch\"", "{ \"epoch\""), ("\"key\":\"k\"", "\"key\":\"\\u006b\""),
    ("\"length\":9", "\"length\":9,\"mimeType\":null"), ("\"length\":9", "\"length\":9.0"),
    ("\"length\":9", "\"length\":9,\"later\":[{\"member\":1}]"),
  ])
  func `JSON in another form is decoded`(_ old: String, _ new: String) throws {
    let text = String(decoding: try plain().encoded(), as: UTF8.self)
    let other = text.replacing(old, with: new)
    #expect(other != text)
    #expect(try EntryRecord.decode([UInt8](other.utf8)) == plain())
  }

  @Test(arguments: [
    "{\"epoch\":03", "{\"epoch\":99999999999999999999", "{\"epoch\":-1", "{\"epoch\":3.",
    "[\"epoch\":3", "{\"epoch\":true",
  ])
  func `Invalid JSON and numbers out of range are no record`(_ start: String) throws {
    let text = String(decoding: try plain().encoded(), as: UTF8.self)
    #expect(text.hasPrefix("{\"epoch\":3,"))
    let damaged = start + text.dropFirst("{\"epoch\":3".count)
    #expect(throws: EntryDirectory.Problem.self) { try EntryRecord.decode([UInt8](damaged.utf8)) }
    #expect(throws: EntryDirectory.Problem.self) {
      try EntryRecord.decode([UInt8](text.utf8.dropLast()))
    }
  }
}
