// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainCLI

struct ChapterTests {
  @Test func `A file of chapters is read, up to 4 MiB`() throws {
    let text = """
      {"version":"1.2.0","chapters":[{"startTime":60.5,"title":"Two","url":"page","x":[]},
      {"startTime":0,"title":"One\\nline","img":"https://c.example/1.png"},
      {"startTime":9,"title":"Hidden","toc":false},{"startTime":-1}]}
      """
    let chapters = try Chapter.chapters(in: Data(text.utf8))
    #expect(chapters.map(\.title) == ["One line", "Two"])
    #expect(chapters.map(\.start) == [.zero, .milliseconds(60_500)])
    for bad in ["", "[]", "{\"chapters\":[{}]}", String(repeating: "[", count: 100_000)] {
      #expect(throws: MediaCacheError.self) { try Chapter.chapters(in: Data(bad.utf8)) }
    }
    let long = try #require(throws: MediaCacheError.self) {
      try Chapter.chapters(in: Data(count: Chapter.longestFile + 1))
    }
    #expect(long.reason.contains("exceeds the limit of 4 MiB"))
  }

  @Test func `A chapter is reported once each time that it begins`() {
    var place = ChapterPlace([
      Chapter(start: .seconds(5), title: "A"), Chapter(start: .seconds(9), title: "B"),
    ])
    let titles = [0, 5, 6, 8, 9, 100, 100, 7, 0, 5].map { seconds in
      place.enter(at: .seconds(seconds))?.title
    }
    #expect(titles == [nil, "A", nil, nil, "B", nil, nil, "A", nil, "A"])
    var none = ChapterPlace()
    #expect(none.enter(at: .seconds(5)) == nil)
  }
}
