// SPDX-License-Identifier: MIT
import RefrainPlayer
import Testing

@testable import RefrainCLI

struct ChapterPlaceTests {
  @Test func `A chapter is reported once each time that it begins`() {
    var place = ChapterPlace([
      Media.Chapter(start: .seconds(5), title: "A"), Media.Chapter(start: .seconds(9), title: "B"),
    ])
    let titles = [0, 5, 6, 8, 9, 100, 100, 7, 0, 5].map { seconds in
      place.enter(at: .seconds(seconds))?.title
    }
    #expect(titles == [nil, "A", nil, nil, "B", nil, nil, "A", nil, "A"])
    var none = ChapterPlace()
    #expect(none.enter(at: .seconds(5)) == nil)
  }
}
