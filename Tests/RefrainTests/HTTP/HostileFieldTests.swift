// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

@testable import Refrain

/// For any bytes an origin sends, every parser returns a consistent result.
@Suite struct HostileFieldTests {
  static let seed: UInt64 =
    ProcessInfo.processInfo.environment["REFRAIN_SEED"].flatMap(UInt64.init)
    ?? UInt64.random(in: 0...UInt64(UInt32.max))

  static let grains = [
    "bytes", " ", "-", "/", "*", "0", "1", "9", "18446744073709551616", "9223372036854775807",
    "9223372036854775806", "Sun,", "Sunday,", "Sun", "Nov", "06-Nov-94", "31", "1994", "0000",
    "08:49:37", "GMT", "W/", "\"", "\\", "=", ",", ";", "max-age", "no-cache", "no-store", "é",
    "\u{0}",
    "\r\n", "..", ".", "/", "//", "?", "#", "%", "%2F", "%zz", ":", "http", "https", "@", "[", "]",
    "host", "\u{1F3B5}", "\t", "audio", "mpeg", ".mp3",
  ]

  @Test func `No value makes a parser trap`() async throws {
    print("HostileFieldTests: REFRAIN_SEED=\(Self.seed)")
    var generator = SeededGenerator(seed: Self.seed)
    for round in 0..<(TestSeed.isSoak ? 100_000 : TestSeed.isSanitized ? 500 : 1_500) {
      try parseEverything(Self.text(&generator))
      // Yields to parallel tests, which depend on timers.
      if round % 100 == 0 { await Task.yield() }
    }
  }

  @Test func `A field value of 30 KB is parsed in bounded time`() throws {
    let clock = ContinuousClock()
    // A sanitizer makes parsing twenty times as slow.
    let grains = TestSeed.isSanitized ? Self.grains.suffix(5) : Self.grains[...]
    let took = try clock.measure {
      for grain in grains {
        try parseEverything(String(repeating: grain, count: 30_000 / grain.utf8.count))
      }
    }
    #expect(took < .seconds(TestSeed.isSanitized ? 600 : 60))
  }

  private static func text(_ generator: inout SeededGenerator) -> String {
    if Bool.random(using: &generator) {
      let count = Int.random(in: 0...40, using: &generator)
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      return String(decoding: bytes, as: UTF8.self)
    }
    let count = Int.random(in: 0...9, using: &generator)
    return (0..<count).map { _ in grains.randomElement(using: &generator) ?? "" }.joined()
  }

  private func parseEverything(_ text: String) throws {
    let now = Date(timeIntervalSince1970: 1_700_000_000)
    if let range = ContentRange(text) {
      #expect(range.range != nil || range.total != nil, "\(text.debugDescription)")
      if let bytes = range.range {
        #expect(bytes.lowerBound >= 0 && !bytes.isEmpty, "\(text.debugDescription)")
        if let total = range.total { #expect(bytes.upperBound <= total) }
      }
    }
    if let date = HTTPDate.parse(text) {
      #expect(HTTPDate.parse(HTTPDate.format(date)) == date, "\(text.debugDescription)")
    }
    _ = CacheControl(["CDN-Cache-Control": text], isShared: true)
    let wait = HeaderFields([("Retry-After", text)]).retryAfter(at: now)
    #expect(wait ?? .zero >= .zero)

    let fields: HeaderFields = [
      "ETag": text, "Last-Modified": text, "Date": text, "Expires": text, "Age": text,
      "Cache-Control": text, "Vary": text,
      "CDN-Cache-Control": text,
    ]
    let validator = Validator(headers: fields)
    #expect(validator.matches(validator) != .different, "\(text.debugDescription)")
    for value in validator.conditional.fields.map(\.value) + [validator.ifRange ?? ""] {
      #expect(value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "\(text.debugDescription)")
    }
    let freshness = Freshness(status: 200, headers: fields, requestTime: now, responseTime: now)
    #expect(freshness.lifetime.isFinite && freshness.lifetime >= 0)
    #expect(freshness.initialAge.isFinite && freshness.initialAge >= 0)
    _ = try JSONEncoder().encode(freshness)

    let url = try #require(URL(string: "https://example.com/a/b?c"))
    let fileExtension = MediaType.fileExtension(
      mimeType: text, url: URL(string: "https://example.com/" + text) ?? url)
    #expect((1...8).contains(fileExtension.count))
    #expect(
      fileExtension.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789".utf8.contains($0) })

    if let spelled = URL(text: text, relativeTo: url) { #expect(spelled.fragment == nil) }
    var redirects = RequestChain(request: OriginRequest(url: url))
    do {
      let next = try redirects.follow(status: 302, headers: ["Location": text])
      #expect(next?.url.scheme?.lowercased() == "https", "\(text.debugDescription)")
      #expect(next?.url.fragment == nil, "\(text.debugDescription)")
    } catch {
      #expect(error.code == .redirect)
    }
  }
}
