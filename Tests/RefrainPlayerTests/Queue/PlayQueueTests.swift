// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainPlayer

/// Playback in listed order.
@Suite struct PlayQueueTests {
  @Test func `An empty queue has nothing to play`() {
    var queue = PlayQueue()
    #expect(queue.isEmpty && queue.current == nil && queue.currentIndex == nil)
    for mode in PlayQueue.RepeatMode.allCases {
      queue.repeatMode = mode
      #expect(queue.next(.ended) == nil && queue.next(.asked) == nil && queue.previous() == nil)
      #expect(queue.advance(.ended) == nil && queue.goBack() == nil)
    }
    queue.rewind()
    queue.setShuffled(true)
    queue.replace(with: [], startingAt: 3)
    #expect(queue.isEmpty && queue.isShuffled && queue.playOrder.isEmpty)
  }

  @Test func `A list plays from the chosen one to its end`() {
    let queue = PlayQueue.of("abcd", startingAt: 1)
    #expect(queue.currentIndex == 1)
    #expect(queue.names(played: 10) == "bcd")
    #expect(queue.names == "abcd" && queue.orderNames == "abcd")
  }

  @Test func `A chosen place out of range is the nearest one`() {
    #expect(PlayQueue.of("abc", startingAt: 9).currentName == "c")
    #expect(PlayQueue.of("abc", startingAt: .min).currentName == "a")
  }

  @Test func `At the end the current one stays current`() {
    var queue = PlayQueue.of("ab", startingAt: 1)
    #expect(queue.advance(.ended) == nil && queue.currentName == "b")
    #expect(queue.advance(.asked) == nil && queue.currentName == "b")
    queue.rewind()
    #expect(queue.currentName == "a")
  }

  @Test func `What is added at the end of a played queue is next`() {
    var queue = PlayQueue.of("ab", startingAt: 1)
    queue.advance(.ended)
    queue.append("c".media)
    #expect(queue.next(.ended)?.media.title == "c" && queue.currentName == "b")
  }

  @Test func `Repeating all begins again after the last`() {
    #expect(PlayQueue.of("abc", repeating: .all).names(played: 7) == "abcabca")
    #expect(PlayQueue.of("a", repeating: .all).names(played: 3) == "aaa")
  }

  @Test func `Repeating all goes back from the first to the last`() {
    var queue = PlayQueue.of("abc", repeating: .all)
    #expect(queue.goBack()?.media.title == "c")
    #expect(queue.advance(.ended)?.media.title == "a")
  }

  @Test func `Repeating one plays the same again where it ended`() {
    let queue = PlayQueue.of("abc", startingAt: 1, repeating: .one)
    #expect(queue.names(played: 4, cause: .ended) == "bbbb")
  }

  @Test func `Repeating one moves on where the next is asked for and ends with the last`() {
    let queue = PlayQueue.of("abc", repeating: .one)
    #expect(queue.names(played: 9, cause: .asked) == "abc")
  }

  @Test func `Going back ends with the first`() {
    var queue = PlayQueue.of("abc", startingAt: 1)
    #expect(queue.previous()?.media.title == "a")
    #expect(queue.goBack()?.media.title == "a")
    #expect(queue.previous() == nil && queue.goBack() == nil && queue.currentName == "a")
  }

  @Test func `A jump goes on from there`() throws {
    var queue = PlayQueue.of("abcd")
    let c = try #require(queue.id("c"))
    let isThere = queue.jump(to: c)
    #expect(isThere)
    #expect(queue.names(played: 9) == "cd" && queue.previous()?.media.title == "b")
  }

  @Test func `What is not in the queue is neither jumped to nor moved nor removed`() throws {
    var queue = PlayQueue.of("abc")
    let b = try #require(queue.id("b"))
    queue.remove(b)
    let before = queue
    #expect(!queue.jump(to: b) && !queue.move(b, to: 0) && !queue.remove(b))
    #expect(queue == before)
  }

  @Test func `What is added next plays right after the current one in the order given`() {
    var queue = PlayQueue.of("abc", startingAt: 1)
    let ids = queue.insertNext("xy".media)
    #expect(queue.names == "abxyc" && queue.currentName == "b")
    #expect(queue.items[2...3].map(\.id) == ids)
    queue.insertNext("z".media)
    #expect(queue.names(played: 9) == "bzxyc")
  }

  @Test func `What is inserted before the current one does not disturb it`() {
    var queue = PlayQueue.of("abc", startingAt: 1)
    queue.insert("x".media, at: 1)
    #expect(queue.names == "axbc" && queue.currentName == "b" && queue.currentIndex == 2)
    queue.insert("y".media, at: 3)
    queue.insert("<".media, at: -5)
    queue.insert(">".media, at: 99)
    #expect(queue.names == "<axbyc>" && queue.currentName == "b")
  }

  @Test func `The first that is added to an empty queue is current`() {
    var queue = PlayQueue()
    queue.append("ab".media)
    #expect(queue.currentName == "a" && queue.names(played: 9) == "ab")
    queue.removeAll()
    #expect(queue.current == nil)
    queue.insertNext("cd".media)
    #expect(queue.currentName == "c" && queue.names == "cd")
  }

  @Test func `Where the current one is removed the next becomes current`() throws {
    var queue = PlayQueue.of("abcd", startingAt: 1)
    #expect(queue.remove(try #require(queue.id("b"))))
    #expect(queue.currentName == "c" && queue.currentIndex == 1)
    #expect(queue.previous()?.media.title == "a")
  }

  @Test(arguments: [PlayQueue.RepeatMode.off, .one])
  func `Where the last is removed while it is current nothing is`(_ mode: PlayQueue.RepeatMode)
    throws
  {
    var queue = PlayQueue.of("abc", startingAt: 2, repeating: mode)
    #expect(queue.remove(try #require(queue.id("c"))))
    #expect(queue.current == nil && queue.next(.ended) == nil && queue.next(.asked) == nil)
    #expect(queue.previous()?.media.title == "b")
    // Insertions before the end do not play. One at the end plays next.
    queue.insert("x".media, at: 0)
    #expect(queue.move(try #require(queue.id("a")), to: 2))
    #expect(queue.current == nil && queue.names == "xba")
    queue.append("de".media)
    #expect(queue.currentName == "d" && queue.next(.asked)?.media.title == "e")
  }

  @Test func `An ended queue without a current one begins anew`() throws {
    var queue = PlayQueue.of("abc", startingAt: 2)
    queue.remove(try #require(queue.id("c")))
    var rewound = queue
    rewound.rewind()
    #expect(rewound.currentName == "a")
    queue.repeatMode = .all
    #expect(queue.advance(.asked)?.media.title == "a")
  }

  @Test func `Where the last is removed and all repeats the first becomes current`() throws {
    var queue = PlayQueue.of("abc", startingAt: 2, repeating: .all)
    queue.remove(try #require(queue.id("c")))
    #expect(queue.currentName == "a")
    queue.remove(try #require(queue.id("a")))
    #expect(queue.currentName == "b")
    queue.remove(try #require(queue.id("b")))
    #expect(queue.isEmpty && queue.current == nil)
  }

  @Test func `What is removed elsewhere does not disturb the current one`() throws {
    var queue = PlayQueue.of("abcd", startingAt: 2)
    queue.remove(try #require(queue.id("a")))
    queue.remove(try #require(queue.id("d")))
    #expect(queue.currentName == "c" && queue.currentIndex == 1 && queue.names == "bc")
  }

  @Test func `The current one stays current whatever is moved`() throws {
    for current in 0..<5 {
      for source in 0..<5 {
        for target in 0..<5 {
          var queue = PlayQueue.of("abcde", startingAt: current)
          let name = queue.currentName
          let moved = queue.items[source]
          let isThere = queue.move(moved.id, to: target)
          #expect(isThere)
          #expect(queue.currentName == name && queue.items[target] == moved)
          #expect(queue.playOrder == queue.items)
        }
      }
    }
  }

  @Test func `A move out of range goes to the nearest place`() throws {
    var queue = PlayQueue.of("abc")
    queue.move(try #require(queue.id("a")), to: 99)
    queue.move(try #require(queue.id("c")), to: -1)
    #expect(queue.names == "cba")
  }

  @Test func `The same media twice is two items`() {
    var queue = PlayQueue.of("aa")
    #expect(Set(queue.items.map(\.id)).count == 2)
    queue.advance(.ended)
    #expect(queue.currentIndex == 1)
  }

  @Test func `Ids are never given twice`() throws {
    var queue = PlayQueue()
    var seen: Set<PlayQueue.Item.ID> = []
    for round in 0..<20 {
      let ids =
        queue.replace(with: "abc".media) + queue.append("d".media) + queue.insertNext("e".media)
        + queue.insert("f".media, at: 0)
      #expect(ids.allSatisfy { seen.insert($0).inserted })
      if round % 3 == 0 { queue.removeAll() }
      queue = try queue.throughJSON()
    }
  }

  @Test func `Replacing and removing all keep the modes`() {
    var queue = PlayQueue.of("abc", repeating: .all, shuffled: true)
    queue.removeAll()
    #expect(queue.isShuffled && queue.repeatMode == .all)
    queue.replace(with: "xyz".media, startingAt: 1)
    #expect(queue.isShuffled && queue.repeatMode == .all && queue.currentName == "y")
  }
}
