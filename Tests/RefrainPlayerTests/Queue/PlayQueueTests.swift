// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainPlayer

/// Playback in listed order.
@Suite struct PlayQueueTests {
  @Test func anEmptyQueueHasNothingToPlay() {
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

  @Test func aListPlaysFromTheChosenOneToItsEnd() {
    let queue = PlayQueue.of("abcd", startingAt: 1)
    #expect(queue.currentIndex == 1)
    #expect(queue.names(played: 10) == "bcd")
    #expect(queue.names == "abcd" && queue.orderNames == "abcd")
  }

  @Test func aChosenPlaceOutOfRangeIsTheNearestOne() {
    #expect(PlayQueue.of("abc", startingAt: 9).currentName == "c")
    #expect(PlayQueue.of("abc", startingAt: .min).currentName == "a")
  }

  @Test func atTheEndTheCurrentOneStaysCurrent() {
    var queue = PlayQueue.of("ab", startingAt: 1)
    #expect(queue.advance(.ended) == nil && queue.currentName == "b")
    #expect(queue.advance(.asked) == nil && queue.currentName == "b")
    queue.rewind()
    #expect(queue.currentName == "a")
  }

  @Test func whatIsAddedAtTheEndOfAPlayedQueueIsNext() {
    var queue = PlayQueue.of("ab", startingAt: 1)
    queue.advance(.ended)
    queue.append("c".media)
    #expect(queue.next(.ended)?.media.title == "c" && queue.currentName == "b")
  }

  @Test func repeatingAllBeginsAgainAfterTheLast() {
    #expect(PlayQueue.of("abc", repeating: .all).names(played: 7) == "abcabca")
    #expect(PlayQueue.of("a", repeating: .all).names(played: 3) == "aaa")
  }

  @Test func repeatingAllGoesBackFromTheFirstToTheLast() {
    var queue = PlayQueue.of("abc", repeating: .all)
    #expect(queue.goBack()?.media.title == "c")
    #expect(queue.advance(.ended)?.media.title == "a")
  }

  @Test func repeatingOnePlaysTheSameAgainWhereItEnded() {
    let queue = PlayQueue.of("abc", startingAt: 1, repeating: .one)
    #expect(queue.names(played: 4, cause: .ended) == "bbbb")
  }

  @Test func repeatingOneMovesOnWhereTheNextIsAskedForAndEndsWithTheLast() {
    let queue = PlayQueue.of("abc", repeating: .one)
    #expect(queue.names(played: 9, cause: .asked) == "abc")
  }

  @Test func goingBackEndsWithTheFirst() {
    var queue = PlayQueue.of("abc", startingAt: 1)
    #expect(queue.previous()?.media.title == "a")
    #expect(queue.goBack()?.media.title == "a")
    #expect(queue.previous() == nil && queue.goBack() == nil && queue.currentName == "a")
  }

  @Test func aJumpGoesOnFromThere() throws {
    var queue = PlayQueue.of("abcd")
    let c = try #require(queue.id("c"))
    let isThere = queue.jump(to: c)
    #expect(isThere)
    #expect(queue.names(played: 9) == "cd" && queue.previous()?.media.title == "b")
  }

  @Test func whatIsNotInTheQueueIsNeitherJumpedToNorMovedNorRemoved() throws {
    var queue = PlayQueue.of("abc")
    let b = try #require(queue.id("b"))
    queue.remove(b)
    let before = queue
    #expect(!queue.jump(to: b) && !queue.move(b, to: 0) && !queue.remove(b))
    #expect(queue == before)
  }

  @Test func whatIsAddedNextPlaysRightAfterTheCurrentOneInTheOrderGiven() {
    var queue = PlayQueue.of("abc", startingAt: 1)
    let ids = queue.insertNext("xy".media)
    #expect(queue.names == "abxyc" && queue.currentName == "b")
    #expect(queue.items[2...3].map(\.id) == ids)
    queue.insertNext("z".media)
    #expect(queue.names(played: 9) == "bzxyc")
  }

  @Test func whatIsInsertedBeforeTheCurrentOneDoesNotDisturbIt() {
    var queue = PlayQueue.of("abc", startingAt: 1)
    queue.insert("x".media, at: 1)
    #expect(queue.names == "axbc" && queue.currentName == "b" && queue.currentIndex == 2)
    queue.insert("y".media, at: 3)
    queue.insert("<".media, at: -5)
    queue.insert(">".media, at: 99)
    #expect(queue.names == "<axbyc>" && queue.currentName == "b")
  }

  @Test func theFirstThatIsAddedToAnEmptyQueueIsCurrent() {
    var queue = PlayQueue()
    queue.append("ab".media)
    #expect(queue.currentName == "a" && queue.names(played: 9) == "ab")
    queue.removeAll()
    #expect(queue.current == nil)
    queue.insertNext("cd".media)
    #expect(queue.currentName == "c" && queue.names == "cd")
  }

  @Test func whereTheCurrentOneIsRemovedTheNextBecomesCurrent() throws {
    var queue = PlayQueue.of("abcd", startingAt: 1)
    #expect(queue.remove(try #require(queue.id("b"))))
    #expect(queue.currentName == "c" && queue.currentIndex == 1)
    #expect(queue.previous()?.media.title == "a")
  }

  @Test(arguments: [PlayQueue.RepeatMode.off, .one])
  func whereTheLastIsRemovedWhileItIsCurrentNothingIs(_ mode: PlayQueue.RepeatMode) throws {
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

  @Test func anEndedQueueWithoutACurrentOneBeginsAnew() throws {
    var queue = PlayQueue.of("abc", startingAt: 2)
    queue.remove(try #require(queue.id("c")))
    var rewound = queue
    rewound.rewind()
    #expect(rewound.currentName == "a")
    queue.repeatMode = .all
    #expect(queue.advance(.asked)?.media.title == "a")
  }

  @Test func whereTheLastIsRemovedAndAllRepeatsTheFirstBecomesCurrent() throws {
    var queue = PlayQueue.of("abc", startingAt: 2, repeating: .all)
    queue.remove(try #require(queue.id("c")))
    #expect(queue.currentName == "a")
    queue.remove(try #require(queue.id("a")))
    #expect(queue.currentName == "b")
    queue.remove(try #require(queue.id("b")))
    #expect(queue.isEmpty && queue.current == nil)
  }

  @Test func whatIsRemovedElsewhereDoesNotDisturbTheCurrentOne() throws {
    var queue = PlayQueue.of("abcd", startingAt: 2)
    queue.remove(try #require(queue.id("a")))
    queue.remove(try #require(queue.id("d")))
    #expect(queue.currentName == "c" && queue.currentIndex == 1 && queue.names == "bc")
  }

  @Test func theCurrentOneStaysCurrentWhateverIsMoved() throws {
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

  @Test func aMoveOutOfRangeGoesToTheNearestPlace() throws {
    var queue = PlayQueue.of("abc")
    queue.move(try #require(queue.id("a")), to: 99)
    queue.move(try #require(queue.id("c")), to: -1)
    #expect(queue.names == "cba")
  }

  @Test func theSameMediaTwiceIsTwoItems() {
    var queue = PlayQueue.of("aa")
    #expect(Set(queue.items.map(\.id)).count == 2)
    queue.advance(.ended)
    #expect(queue.currentIndex == 1)
  }

  @Test func idsAreNeverGivenTwice() throws {
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

  @Test func replacingAndRemovingAllKeepTheModes() {
    var queue = PlayQueue.of("abc", repeating: .all, shuffled: true)
    queue.removeAll()
    #expect(queue.isShuffled && queue.repeatMode == .all)
    queue.replace(with: "xyz".media, startingAt: 1)
    #expect(queue.isShuffled && queue.repeatMode == .all && queue.currentName == "y")
  }
}
