// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainProxy
@testable import RefrainServer

/// The rows of the page.
@Suite struct PageRowTests {
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

  private func rows(
    _ entries: [EntrySummary], _ downloads: [CacheKey: PageDownloads.Item] = [:]
  ) -> [CacheKey: PageRow] {
    let all = entries.compactMap { PageRow($0, nil) }
    return PageRow.rows(
      PageRow.members(Dictionary(all.map { ($0.key, $0) }) { $1 }), downloads)
  }

  @Test func `A stream is one row`() throws {
    var entries = [try entry("main.m3u8", spans: [0..<1000], isPinned: true)]
    for number in 0..<4 {
      let spans: [ByteRange] = number == 2 ? [0..<500] : [0..<1000]
      entries.append(try entry("s\(number).ts", spans: spans, stream: "main.m3u8"))
    }
    let rows = rows(entries)
    let row = try #require(rows[key("main.m3u8")])
    #expect(rows.count == 1)
    // The third is not whole.
    #expect(row.parts == 3 && row.length == nil && row.spans.isEmpty)
    #expect(row.stored == 1000 + 3 * 1000 + 500 && row.disk == 5 * 4096)
    #expect(row.pinned == .partly)
  }

  @Test func `The row of a manifest without parts is that of a resource`() throws {
    let rows = rows([try entry("m", spans: [0..<10])])
    #expect(rows[key("m")]?.parts == nil && rows[key("m")]?.spans == [0, 10])
  }

  @Test func `A part whose manifest is missing has the row of its stream`() throws {
    let rows = rows([try entry("s", stream: "https://example.org/m", isPinned: true)])
    #expect(rows.values.map(\.url) == ["https://example.org/m"])
    #expect(rows.values.first?.pinned == .yes)
  }

  @Test func `A download of which nothing is stored has a row`() throws {
    let item = PageDownloads.Item(url: "https://example.org/d", isPinned: false)
    let rows = rows([try entry("a")], [key("a"): item, key("d"): item])
    #expect(rows.count == 2 && rows.values.allSatisfy { $0.download == item })
    #expect(rows[key("a")]?.disk == 4096 && rows[key("d")]?.url == item.url)
  }

  @Test func `Too many spans are rounded to cells that are stored whole`() throws {
    let spans = (0..<1000).map { Int64($0) * 4096..<Int64($0) * 4096 + 4000 }
    func row(_ spans: [ByteRange]) throws -> PageRow {
      try #require(PageRow(try entry("a", length: 4_096_000, spans: spans), nil))
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
}
