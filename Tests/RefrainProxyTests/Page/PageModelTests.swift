// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainProxy

/// The rows of the page, and what a client is sent of them.
@Suite struct PageModelTests {
  static func entry(
    _ name: String, length: Int64? = 1000, spans: [ByteRange] = [], stream: String? = nil,
    used: Int64 = 0, isPinned: Bool = false
  ) -> PageEntry {
    PageEntry(
      key: CacheKey(rawValue: name), url: "https://example.org/\(name)", type: "audio/flac",
      length: length, spans: RangeSet(spans), disk: 4096, used: used, isPinned: isPinned,
      stream: stream.map { CacheKey(rawValue: $0) })
  }

  private func rows(_ model: PageModel) -> [CacheKey: PageRow] {
    let rows = model.difference(since: 0)?.rows ?? []
    return Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0) })
  }

  @Test func `A client is sent only what changed since its version`() throws {
    var model = PageModel()
    model.apply([Self.entry("a"), Self.entry("b", used: 5)])
    let first = try #require(model.difference(since: 0))
    #expect(first.isWhole)
    #expect(first.rows.map(\.key.rawValue) == ["b", "a"])
    #expect(model.difference(since: first.version) == nil)
    model.apply([Self.entry("a", spans: [0..<10]), Self.entry("b", used: 5)])
    let second = try #require(model.difference(since: first.version))
    #expect(!second.isWhole)
    #expect(second.rows.map(\.key.rawValue) == ["a"])
    #expect(second.rows[0].spans == [0..<10])
    model.apply([], removing: [CacheKey(rawValue: "b")])
    let third = try #require(model.difference(since: second.version))
    #expect(third.rows.isEmpty && third.removed.map(\.rawValue) == ["b"])
    #expect(model.disk == 4096)
  }

  @Test func `A change that shows nothing new begins no version`() {
    var model = PageModel()
    model.apply([Self.entry("a")])
    let version = model.version
    model.apply([Self.entry("a")], removing: [CacheKey(rawValue: "none")])
    #expect(model.version == version)
  }

  @Test func `A stream is one row, without a length while its playlists are unknown`() throws {
    var model = PageModel()
    let numbers = [10, 9, 1, 2]
    model.apply(
      [Self.entry("main.m3u8", spans: [0..<1000])]
        + numbers.map {
          Self.entry("s\($0).ts", spans: $0 == 2 ? [0..<500] : [0..<1000], stream: "main.m3u8")
        })
    let row = try #require(rows(model)[CacheKey(rawValue: "main.m3u8")])
    #expect(model.rowCount == 1)
    // The second is not whole.
    #expect(row.parts == 3 && row.length == nil)
    #expect(row.spans.isEmpty && row.fetching.isEmpty && row.readers.isEmpty)
    #expect(row.stored == 1000 + 3 * 1000 + 500)
    #expect(row.disk == 5 * 4096)
    #expect(row.pinned == .no)
  }

  @Test func `Parts that arrive one by one are in the order of all at once`() {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (parts of the page)")
    var random = SeededGenerator(seed: seed)
    let names = (0..<200).map { "s\($0).ts" }
    var model = PageModel()
    model.apply([Self.entry("m"), Self.entry(names[77], stream: "m")])
    for name in names.shuffled(using: &random) {
      model.apply([Self.entry(name, stream: "m")])
      guard Int.random(in: 0..<20, using: &random) == 0 else { continue }
      model.apply([], removing: [CacheKey(rawValue: name)])
      model.apply([Self.entry(name, stream: "m")])
    }
    let shown = model.keys(ofRow: CacheKey(rawValue: "m")).map(\.rawValue)
    #expect(shown == ["m"] + names)
  }

  @Test func `A stream's row becomes that of its manifest when its parts are removed`() throws {
    var model = PageModel()
    model.apply([Self.entry("m"), Self.entry("s", stream: "m")])
    let seen = model.version
    model.apply([], removing: [CacheKey(rawValue: "s")])
    let row = try #require(model.difference(since: seen)?.rows.first)
    #expect(row.key.rawValue == "m" && row.parts == nil)
  }

  @Test func `A part whose manifest is missing has the row of its stream`() throws {
    var model = PageModel()
    model.apply([Self.entry("s", isPinned: true)])
    let seen = model.version
    model.apply([Self.entry("s", stream: "https://example.org/m", isPinned: true)])
    let news = try #require(model.difference(since: seen))
    #expect(news.removed.map(\.rawValue) == ["s"])
    #expect(news.rows.map(\.url) == ["https://example.org/m"])
    #expect(news.rows.first?.pinned == .yes)
    #expect(model.keys(ofRow: CacheKey(rawValue: "https://example.org/m")).count == 1)
  }

  @Test func `A client that misses forgotten removals is sent everything`() throws {
    var model = PageModel()
    model.apply([Self.entry("a"), Self.entry("b")])
    let seen = model.version
    for number in 0...PageModel.mostRemovals {
      model.apply([Self.entry("x\(number)")])
      model.apply([], removing: [CacheKey(rawValue: "x\(number)")])
    }
    let late = try #require(model.difference(since: seen))
    #expect(late.isWhole && late.rows.count == 2)
  }

  @Test func `However seldom a client looks, it ends with the rows of the model`() {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (rows of the page)")
    var random = SeededGenerator(seed: seed)
    var model = PageModel()
    var mirror: [CacheKey: PageRow] = [:]
    var seen: UInt64 = 0
    let streams: [String?] = [nil, nil, "0", "1", "40"]
    for _ in 0..<600 {
      let names = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        String(Int.random(in: 0..<40, using: &random))
      }
      if Int.random(in: 0..<3, using: &random) == 0 {
        model.apply([], removing: names.map { CacheKey(rawValue: $0) })
      } else {
        let end = Int64.random(in: 1...1000, using: &random)
        model.apply(
          Set(names).sorted().map {
            Self.entry($0, spans: [0..<end], stream: streams.randomElement(using: &random) ?? nil)
          })
      }
      guard Int.random(in: 0..<4, using: &random) == 0,
        let news = model.difference(since: seen)
      else { continue }
      if news.isWhole { mirror = [:] }
      for row in news.rows { mirror[row.key] = row }
      for key in news.removed { mirror[key] = nil }
      seen = news.version
      #expect(mirror == rows(model))
      // The incremental rows are those of a model that sees everything at once.
      var fresh = PageModel()
      fresh.apply(Array(mirror.keys).flatMap { model.keys(ofRow: $0) }.compactMap { model[$0] })
      #expect(rows(fresh) == mirror)
    }
    #expect(seen > 0)
  }

  @Test func `Too many spans are rounded to cells that are stored whole`() throws {
    let spans = (0..<1000).map { Int64($0) * 4096..<Int64($0) * 4096 + 4000 }
    let row = PageRow(Self.entry("a", length: 4_096_000, spans: spans))
    #expect(row.isRounded)
    #expect(row.spans.allSatisfy { shown in spans.contains { $0.contains(shown.lowerBound) } })
    let whole = PageRow(Self.entry("a", length: 4_096_000, spans: Array(spans.prefix(256))))
    #expect(!whole.isRounded && whole.spans == Array(spans.prefix(256)))
  }

  @Test(arguments: [
    ("s9", "s10"), ("s09", "s10"), ("a", "b"), ("s1", "s1a"), ("s2-9", "s10-1"), ("s", "s0"),
    ("s0", "s00"), ("s-", "s0"), ("s9", "s:"),
    ("99999999999999999999998", "99999999999999999999999"),
  ])
  func `Numbers in names are in the order of their values`(_ first: String, _ second: String) {
    #expect(NaturalOrder(first) < NaturalOrder(second))
    #expect(!(NaturalOrder(second) < NaturalOrder(first)))
    #expect(!(NaturalOrder(first) < NaturalOrder(first)))
  }

  @Test func `Ten thousand rows are sent once, and then what changes`() throws {
    var model = PageModel()
    let count = 10_000
    model.apply((0..<count).map { Self.entry("\($0)", spans: [0..<500], used: Int64($0)) })
    let first = try #require(model.difference(since: 0))
    #expect(first.isWhole && first.rows.count == count && model.rowCount == count)
    // Those that were used last come first.
    #expect(first.rows.map(\.used).elementsEqual((0..<Int64(count)).reversed()))
    #expect(model.disk == 4096 * Int64(count))
    #expect(PageReport.parts(of: first).count == 20)
    model.apply([Self.entry("77", spans: [0..<1000], used: 77)])
    let second = try #require(model.difference(since: first.version))
    #expect(!second.isWhole && second.removed.isEmpty)
    #expect(second.rows.map(\.key.rawValue) == ["77"])
    #expect(PageReport.parts(of: second).count == 1)
    let new = (count..<count + 10).map { Self.entry("\($0)", used: Int64($0)) }
    model.apply(new, removing: (0..<10).map { CacheKey(rawValue: "\($0)") })
    let third = try #require(model.difference(since: second.version))
    #expect(!third.isWhole && third.rows.count == 10 && third.removed.count == 10)
    #expect(model.rowCount == count)
    // Another look at the directory that finds the same.
    let all = (10..<count + 10).compactMap { model[CacheKey(rawValue: "\($0)")] }
    model.replaceAll(with: all)
    #expect(all.count == count && model.version == third.version)
  }

  @Test func `Rows in parts are the rows of one difference`() throws {
    var model = PageModel()
    model.apply((0..<1200).map { Self.entry("\($0) <\"\\\u{1}é𝄞\u{2028}>") })
    let difference = try #require(model.difference(since: 0))
    let parts = try PageReport.parts(of: difference).map { bytes in
      try #require(
        try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }
    #expect(parts.count == 3)
    #expect(parts.map { $0["whole"] as? Bool ?? false } == [true, false, false])
    #expect(parts.map { $0["more"] as? Bool ?? false } == [true, true, false])
    let rows = parts.flatMap { $0["rows"] as? [[String: Any]] ?? [] }
    #expect(rows.compactMap { $0["key"] as? String } == difference.rows.map(\.key.rawValue))
    #expect(PageReport.parts(of: difference).allSatisfy { !$0.contains(UInt8(ascii: "<")) })
    #expect(PageReport.parts(of: difference).allSatisfy { !$0.contains(UInt8(ascii: "\n")) })
  }
}
