// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainPlayer

/// Items of a queue that turn out to be lists.
@Suite struct ExpandedQueueTests {
  @Test func `The media of a list take its place, and the first of them becomes current`() throws {
    var queue = PlayQueue.of("abc", startingAt: 1, repeating: .all)
    let list = try #require(queue.id("b"))
    let before = Set(queue.items.map(\.id))
    let added = queue.expand(list, into: "123".media)
    #expect(queue.names == "a123c" && queue.currentName == "1")
    #expect(queue.names(played: 7) == "123ca12")
    #expect(queue.items[1...3].map(\.id) == added && before.isDisjoint(with: added))
    #expect(try queue.throughJSON() == queue)
  }

  @Test(arguments: [("a", "123bc"), ("c", "ab123")])
  func `Another item stays current if it is not the list`(_ list: String, _ names: String) throws {
    var queue = PlayQueue.of("abc", startingAt: 1)
    queue.expand(try #require(queue.id(list)), into: "123".media)
    #expect(queue.names == names && queue.currentName == "b")
  }

  @Test func `An empty list, and one that is gone, change nothing`() throws {
    var queue = PlayQueue.of("abc")
    let list = try #require(queue.id("b"))
    #expect(queue.expand(list, into: []).isEmpty)
    queue.remove(list)
    let before = queue
    #expect(queue.expand(list, into: "123".media).isEmpty)
    #expect(queue == before)
  }

  @Test func `In a shuffled queue, any of them takes the place, others play later`() throws {
    var first: Set<String> = []
    var places: Set<Int> = []
    for seed in 0..<200 as Range<UInt64> {
      var queue = PlayQueue.of("abcdef", shuffled: true, seed: seed)
      for _ in 0..<2 { queue.advance(.ended) }
      let list = try #require(queue.current)
      let before = Array(queue.orderNames)
      queue.expand(list.id, into: "123".media)
      let after = Array(queue.orderNames)
      #expect(Array(after.prefix(2)) == Array(before.prefix(2)))
      #expect(after.filter(\.isLetter) == before.filter { String($0) != list.media.title })
      #expect(after.filter(\.isNumber).sorted() == ["1", "2", "3"])
      #expect(queue.names.filter(\.isNumber) == "123")
      #expect(queue.currentName == String(after[2]) && after[2].isNumber)
      #expect(queue.previous()?.media.title == String(before[1]))
      #expect(queue.names(played: 99) == String(after[2...]))
      #expect(try queue.throughJSON() == queue)
      first.insert(String(after[2]))
      places.formUnion(after.indices.filter { after[$0].isNumber })
    }
    #expect(first == ["1", "2", "3"] && places == Set(2...7))
  }
}
