// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainProxy

/// The rows of the page.
@Suite struct PageModelTests {
  private func key(_ name: String) -> CacheKey { CacheKey(rawValue: name) }

  private func entry(
    _ name: String, length: Int64? = 1000, spans: [ByteRange] = [], stream: String? = nil,
    isPinned: Bool = false
  ) throws -> EntrySummary {
    let url = try #require(URL(string: "https://example.org/\(name)"))
    let stored = spans.reduce(0) { $0 + Int64($1.count) }
    return EntrySummary(
      key: key(name), url: url, length: length, mimeType: "audio/flac", spans: RangeSet(spans),
      cachedBytes: stored, allocatedBytes: 4096, lastAccess: Date(timeIntervalSince1970: 5),
      isComplete: stored == length, isInUse: false, isPinned: isPinned,
      file: URL(filePath: "/x"), group: stream.map { key($0) })
  }

  @Test func `A look at the directory names what it did not find`() throws {
    var model = PageModel()
    model.store([try entry("a"), try entry("b")])
    let missing = model.storeAll([try entry("b"), try entry("c")])
    _ = model.update()
    // It may be newer than the look.
    #expect(missing == [key("a")] && model.rows.count == 3)
  }

  @Test func `A stream is one row`() throws {
    var model = PageModel()
    model.store([try entry("main.m3u8", spans: [0..<1000], isPinned: true)])
    for number in 0..<4 {
      let spans: [ByteRange] = number == 2 ? [0..<500] : [0..<1000]
      model.store([try entry("s\(number).ts", spans: spans, stream: "main.m3u8")])
      _ = model.update()
    }
    let row = try #require(model.rows[key("main.m3u8")])
    #expect(model.rows.count == 1 && model.keys(ofRow: row.key).count == 5)
    // The third is not whole.
    #expect(row.parts == 3 && row.length == nil && row.spans.isEmpty)
    #expect(row.stored == 1000 + 3 * 1000 + 500 && row.disk == 5 * 4096)
    #expect(row.pinned == .partly)
  }

  @Test func `A part whose manifest is missing has the row of its stream`() throws {
    var model = PageModel()
    model.store([try entry("s", isPinned: true)])
    _ = model.update()
    model.store([try entry("s", stream: "https://example.org/m", isPinned: true)])
    _ = model.update()
    #expect(model.rows.values.map(\.url) == ["https://example.org/m"])
    #expect(model.rows.values.first?.pinned == .yes)
    #expect(model.keys(ofRow: key("https://example.org/m")) == [key("s")])
  }

  @Test func `However rows change, they are those of everything at once`() throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (rows of the page)")
    var random = SeededGenerator(seed: seed)
    var model = PageModel()
    var mirror: [CacheKey: PageRow] = [:]
    var stored: [CacheKey: EntrySummary] = [:]
    let streams: [String?] = [nil, nil, "0", "1", "40"]
    for _ in 0..<600 {
      let names = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        String(Int.random(in: 0..<40, using: &random))
      }
      if Int.random(in: 0..<3, using: &random) == 0 {
        for name in names { stored[key(name)] = nil }
        model.store([], missing: names.map { key($0) })
      } else {
        let end = Int64.random(in: 1...1000, using: &random)
        for name in Set(names).sorted() {
          let stream = streams.randomElement(using: &random) ?? nil
          let summary = try entry(name, spans: [0..<end], stream: stream)
          stored[summary.key] = summary
          model.store([summary])
        }
      }
      guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
      for key in model.update() { mirror[key] = model.rows[key] }
      #expect(mirror == model.rows)
      var fresh = PageModel()
      fresh.store(Array(stored.values))
      _ = fresh.update()
      #expect(fresh.rows == mirror)
    }
  }

  @Test func `Too many spans are rounded to cells that are stored whole`() throws {
    let spans = (0..<1000).map { Int64($0) * 4096..<Int64($0) * 4096 + 4000 }
    func row(_ spans: [ByteRange]) throws -> PageRow {
      PageRow(key("a"), PageEntry(summary: try entry("a", length: 4_096_000, spans: spans)))
    }
    let rounded = try row(spans).spans
    #expect(rounded.count < 2000)
    for index in stride(from: 0, to: rounded.count, by: 2) {
      let shown = rounded[index]..<rounded[index + 1]
      #expect(
        spans.contains { $0.lowerBound <= shown.lowerBound && shown.upperBound <= $0.upperBound })
    }
    let whole = Array(spans.prefix(256))
    #expect(try row(whole).spans == whole.flatMap { [$0.lowerBound, $0.upperBound] })
  }

  @Test func `Of ten thousand rows only those that change are named again`() throws {
    var model = PageModel()
    let count = 10_000
    model.store(try (0..<count).map { try entry("\($0)", spans: [0..<500]) })
    var changed = model.update()
    #expect(changed.count == count && model.rows.count == count)
    model.store([try entry("77", spans: [0..<1000])])
    changed = model.update()
    #expect(changed == [key("77")])
    // Another look at the directory that finds the same.
    let missing = model.storeAll(
      try (0..<count).map { try entry("\($0)", spans: [0..<($0 == 77 ? 1000 : 500)]) })
    changed = model.update()
    #expect(missing.isEmpty && changed.isEmpty)
  }
}
