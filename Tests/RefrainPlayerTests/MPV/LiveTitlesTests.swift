// SPDX-License-Identifier: MIT
import Refrain
import Testing

@testable import RefrainPlayer

/// The times of the titles of a live stream.
struct LiveTitlesTests {
  private func title(_ name: String, _ offset: Int64) -> StreamTitle {
    StreamTitle(title: name, offset: offset)
  }

  @Test func `A title begins where its bytes are among those read since`() {
    var titles = LiveTitles()
    #expect(titles.title(at: .zero) == nil)
    titles.note(title("First", 0), readTo: 1000)
    titles.place(upTo: .seconds(10), from: .zero)
    titles.note(title("First", 0), readTo: 1500)
    titles.note(title("Second", 1600), readTo: 2000)
    titles.note(title("Third", 2900), readTo: 3000)
    titles.place(upTo: .seconds(30), from: .zero)
    let heard = [0, 15.9, 16.1, 28.9, 29.1, 100].map { titles.title(at: .seconds($0))?.title }
    #expect(heard == ["First", "First", "Second", "Second", "Third", "Third"])
  }

  @Test func `Sound before the first title has that title`() {
    var titles = LiveTitles()
    titles.note(nil, readTo: 100)
    titles.place(upTo: .seconds(1), from: .zero)
    titles.note(title("First", 150), readTo: 200)
    titles.place(upTo: .seconds(2), from: .zero)
    #expect(titles.title(at: .zero)?.title == "First")
  }

  @Test func `A title that comes again is another one`() {
    var titles = LiveTitles()
    for (index, name) in ["First", "Second", "First"].enumerated() {
      titles.note(title(name, Int64(index * 100)), readTo: Int64(index * 100 + 100))
      titles.place(upTo: .seconds(index + 1), from: .zero)
    }
    let heard = [0.5, 1.5, 2.5].map { titles.title(at: .seconds($0))?.title }
    #expect(heard == ["First", "Second", "First"])
  }

  @Test func `Titles of sound that is no longer kept are dropped, and the latest are kept`() {
    var titles = LiveTitles()
    for number in 1...2000 {
      titles.note(title("\(number)", Int64(number * 10)), readTo: Int64(number * 10 + 1))
      titles.place(upTo: .seconds(number), from: .seconds(number - 3))
      #expect(titles.title(at: .zero)?.title == "\(max(1, number - 3))")
    }
    var many = LiveTitles()
    for number in 1...3000 { many.note(title("\(number)", Int64(number)), readTo: Int64(number)) }
    many.place(upTo: .seconds(1), from: .zero)
    #expect(many.title(at: .zero)?.title == "\(3000 - LiveTitles.most + 1)")
  }
}
