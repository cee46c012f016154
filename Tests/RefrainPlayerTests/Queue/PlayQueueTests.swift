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

  @Test func `A list plays from the chosen item to its end`() {
    let queue = PlayQueue.of("abcd", startingAt: 1)
    #expect(queue.currentIndex == 1)
    #expect(queue.names(played: 10) == "bcd")
    #expect(queue.names == "abcd" && queue.orderNames == "abcd")
  }

  @Test func `A start index out of range is clamped`() {
    #expect(PlayQueue.of("abc", startingAt: 9).currentName == "c")
    #expect(PlayQueue.of("abc", startingAt: .min).currentName == "a")
  }

  @Test func `The current item stays current at the end`() {
    var queue = PlayQueue.of("ab", startingAt: 1)
    #expect(queue.advance(.ended) == nil && queue.currentName == "b")
    #expect(queue.advance(.asked) == nil && queue.currentName == "b")
    queue.rewind()
    #expect(queue.currentName == "a")
  }

  @Test func `An item added at the end of a finished queue is next`() {
    var queue = PlayQueue.of("ab", startingAt: 1)
    queue.advance(.ended)
    queue.append("c".media)
    #expect(queue.next(.ended)?.media.title == "c" && queue.currentName == "b")
  }

  @Test func `Repeating all begins again after the last item`() {
    #expect(PlayQueue.of("abc", repeating: .all).names(played: 7) == "abcabca")
    #expect(PlayQueue.of("a", repeating: .all).names(played: 3) == "aaa")
  }

  @Test func `Repeating all goes back from the first item to the last`() {
    var queue = PlayQueue.of("abc", repeating: .all)
    #expect(queue.goBack()?.media.title == "c")
    #expect(queue.advance(.ended)?.media.title == "a")
  }

  @Test func `Repeating one plays the same item again when it ends`() {
    let queue = PlayQueue.of("abc", startingAt: 1, repeating: .one)
    #expect(queue.names(played: 4, cause: .ended) == "bbbb")
  }

  @Test func `Repeating one moves on when the next item is requested, up to the last`() {
    let queue = PlayQueue.of("abc", repeating: .one)
    #expect(queue.names(played: 9, cause: .asked) == "abc")
  }

  @Test func `Going back ends with the first item`() {
    var queue = PlayQueue.of("abc", startingAt: 1)
    #expect(queue.previous()?.media.title == "a")
    #expect(queue.goBack()?.media.title == "a")
    #expect(queue.previous() == nil && queue.goBack() == nil && queue.currentName == "a")
  }

  @Test func `Playback continues from the target of a jump`() throws {
    var queue = PlayQueue.of("abcd")
    let c = try #require(queue.id("c"))
    let isThere = queue.jump(to: c)
    #expect(isThere)
    #expect(queue.names(played: 9) == "cd" && queue.previous()?.media.title == "b")
  }

  @Test func `An item outside the queue cannot be jumped to, moved or removed`() throws {
    var queue = PlayQueue.of("abc")
    let b = try #require(queue.id("b"))
    queue.remove(b)
    let before = queue
    #expect(!queue.jump(to: b) && !queue.move(b, to: 0) && !queue.remove(b))
    #expect(queue == before)
  }

  @Test func `Items inserted next play right after the current one, in the given order`() {
    var queue = PlayQueue.of("abc", startingAt: 1)
    let ids = queue.insertNext("xy".media)
    #expect(queue.names == "abxyc" && queue.currentName == "b")
    #expect(queue.items[2...3].map(\.id) == ids)
    queue.insertNext("z".media)
    #expect(queue.names(played: 9) == "bzxyc")
  }

  @Test func `An insertion elsewhere does not change the current item`() {
    var queue = PlayQueue.of("abc", startingAt: 1)
    queue.insert("x".media, at: 1)
    #expect(queue.names == "axbc" && queue.currentName == "b" && queue.currentIndex == 2)
    queue.insert("y".media, at: 3)
    queue.insert("<".media, at: -5)
    queue.insert(">".media, at: 99)
    #expect(queue.names == "<axbyc>" && queue.currentName == "b")
  }

  @Test func `The first item added to an empty queue becomes current`() {
    var queue = PlayQueue()
    queue.append("ab".media)
    #expect(queue.currentName == "a" && queue.names(played: 9) == "ab")
    queue.removeAll()
    #expect(queue.current == nil)
    queue.insertNext("cd".media)
    #expect(queue.currentName == "c" && queue.names == "cd")
  }

  @Test func `The next item becomes current when the current one is removed`() throws {
    var queue = PlayQueue.of("abcd", startingAt: 1)
    #expect(queue.remove(try #require(queue.id("b"))))
    #expect(queue.currentName == "c" && queue.currentIndex == 1)
    #expect(queue.previous()?.media.title == "a")
  }

  @Test(arguments: [PlayQueue.RepeatMode.off, .one])
  func `Removing the last item while it is current leaves no current item`(
    _ mode: PlayQueue.RepeatMode
  ) throws {
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

  @Test func `An ended queue without a current item begins again`() throws {
    var queue = PlayQueue.of("abc", startingAt: 2)
    queue.remove(try #require(queue.id("c")))
    var rewound = queue
    rewound.rewind()
    #expect(rewound.currentName == "a")
    queue.repeatMode = .all
    #expect(queue.advance(.asked)?.media.title == "a")
  }

  @Test func `Removing the current last item of a repeating queue selects the first`() throws {
    var queue = PlayQueue.of("abc", startingAt: 2, repeating: .all)
    queue.remove(try #require(queue.id("c")))
    #expect(queue.currentName == "a")
    queue.remove(try #require(queue.id("a")))
    #expect(queue.currentName == "b")
    queue.remove(try #require(queue.id("b")))
    #expect(queue.isEmpty && queue.current == nil)
  }

  @Test func `A removal elsewhere does not change the current item`() throws {
    var queue = PlayQueue.of("abcd", startingAt: 2)
    queue.remove(try #require(queue.id("a")))
    queue.remove(try #require(queue.id("d")))
    #expect(queue.currentName == "c" && queue.currentIndex == 1 && queue.names == "bc")
  }

  @Test func `The current item stays current when any item is moved`() throws {
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

  @Test func `A move out of range goes to the nearest end`() throws {
    var queue = PlayQueue.of("abc")
    queue.move(try #require(queue.id("a")), to: 99)
    queue.move(try #require(queue.id("c")), to: -1)
    #expect(queue.names == "cba")
  }

  @Test func `The same media added twice makes two items`() {
    var queue = PlayQueue.of("aa")
    #expect(Set(queue.items.map(\.id)).count == 2)
    queue.advance(.ended)
    #expect(queue.currentIndex == 1)
  }

  @Test func `IDs of items are never reused`() throws {
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

  @Test func `Replacing or removing all items keeps the modes`() {
    var queue = PlayQueue.of("abc", repeating: .all, shuffled: true)
    queue.removeAll()
    #expect(queue.isShuffled && queue.repeatMode == .all)
    queue.replace(with: "xyz".media, startingAt: 1)
    #expect(queue.isShuffled && queue.repeatMode == .all && queue.currentName == "y")
  }
}
