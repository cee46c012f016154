// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainPlayer

@Suite struct ShuffledQueueTests {
  private let letters = "abcdefghijklmnopqrstuvwxyz"

  @Test func `Shuffling puts the current item first and all others after it`() {
    var queue = PlayQueue.of(letters, startingAt: 5)
    queue.setShuffled(true)
    #expect(queue.isShuffled && queue.currentName == "f" && queue.currentIndex == 5)
    #expect(queue.orderNames.first == "f" && queue.orderNames.sorted() == letters.sorted())
    #expect(queue.orderNames != queue.names && queue.names == letters)
    #expect(queue.names(played: 99) == queue.orderNames)
  }

  @Test func `The seed determines the shuffled order`() {
    let orders = (0..<20 as Range<UInt64>).map {
      PlayQueue.of(letters, shuffled: true, seed: $0).orderNames
    }
    #expect(Set(orders).count == 20)
    #expect(PlayQueue.of(letters, shuffled: true, seed: 4).orderNames == orders[4])
  }

  @Test func `A replaced list is shuffled with the chosen item first`() {
    let queue = PlayQueue.of(letters, startingAt: 3, shuffled: true)
    #expect(queue.currentName == "d" && queue.orderNames.first == "d")
    #expect(queue.names == letters && queue.names(played: 99).sorted() == letters.sorted())
  }

  @Test func `Turning shuffle off continues the list after the current item`() {
    var queue = PlayQueue.of(letters, shuffled: true)
    for _ in 0..<7 { queue.advance(.ended) }
    let name = queue.currentName
    queue.setShuffled(false)
    #expect(queue.currentName == name && queue.orderNames == letters)
    #expect(letters.hasSuffix(queue.names(played: 99)))
  }

  @Test func `Turning shuffle off and on yields another order`() {
    var queue = PlayQueue.of(letters, shuffled: true)
    let first = queue.orderNames
    queue.setShuffled(true)
    #expect(queue.orderNames == first)
    queue.setShuffled(false)
    queue.setShuffled(true)
    #expect(queue.orderNames != first)
  }

  @Test func `Going back retraces the played items, and going forward repeats them`() {
    var queue = PlayQueue.of(letters, shuffled: true)
    var played = [queue.currentName]
    for _ in 0..<9 { played.append(queue.advance(.ended)?.media.title) }
    for name in played.dropLast().reversed() { #expect(queue.goBack()?.media.title == name) }
    #expect(queue.goBack() == nil && queue.currentName == played.first)
    for name in played.dropFirst() { #expect(queue.advance(.asked)?.media.title == name) }
  }

  @Test func `A jump inserts its target after the current item, before the unplayed ones`() throws {
    var queue = PlayQueue.of(letters, shuffled: true)
    for _ in 0..<3 { queue.advance(.ended) }
    let order = queue.orderNames
    let target = try #require(order.last)
    queue.jump(to: try #require(queue.id(String(target))))
    #expect(queue.currentName == String(target))
    #expect(queue.orderNames == order.prefix(4) + [target] + order.dropFirst(4).dropLast())
    #expect(queue.previous()?.media.title == String(Array(order)[3]))
  }

  @Test func `A jump to a played item leaves the unplayed items to play`() throws {
    var queue = PlayQueue.of(letters, shuffled: true)
    for _ in 0..<5 { queue.advance(.ended) }
    let order = Array(queue.orderNames)
    queue.jump(to: try #require(queue.id(String(order[2]))))
    #expect(queue.names(played: 99) == String([order[2]] + order[6...]))
    #expect(queue.goBack()?.media.title == String(order[5]))
    #expect(queue.goBack()?.media.title == String(order[4]))
    #expect(queue.goBack()?.media.title == String(order[3]))
    #expect(queue.goBack()?.media.title == String(order[1]))
  }

  @Test func `A jump to the current item changes nothing`() throws {
    var queue = PlayQueue.of(letters, shuffled: true)
    queue.advance(.ended)
    let before = queue
    #expect(queue.jump(to: try #require(queue.current?.id)))
    #expect(queue == before)
  }

  @Test func `Added items play at random places among the unplayed ones`() {
    var places: Set<Int> = []
    for seed in 0..<200 as Range<UInt64> {
      var queue = PlayQueue.of("abcdefgh", shuffled: true, seed: seed)
      for _ in 0..<3 { queue.advance(.ended) }
      let order = queue.orderNames
      queue.append("123".media)
      let after = Array(queue.orderNames)
      #expect(String(after.filter(\.isLetter)) == order)
      #expect(String(after.prefix(4)) == order.prefix(4))
      places.formUnion(after.indices.filter { after[$0].isNumber })
      #expect(queue.names == "abcdefgh123")
    }
    #expect(places == Set(4...10))
  }

  @Test func `Items added after going back play after the already played ones`() {
    for seed in 0..<50 as Range<UInt64> {
      var queue = PlayQueue.of("abcdefgh", shuffled: true, seed: seed)
      for _ in 0..<4 { queue.advance(.ended) }
      for _ in 0..<3 { queue.goBack() }
      let order = queue.orderNames
      queue.insert("1".media, at: 0)
      #expect(queue.orderNames.hasPrefix(order.prefix(5)))
    }
  }

  @Test func `Items inserted next stay next when others are added later`() {
    for seed in 0..<50 as Range<UInt64> {
      var queue = PlayQueue.of("abcdefgh", startingAt: 2, shuffled: true, seed: seed)
      queue.insertNext("12".media)
      #expect(queue.names == "abc12defgh")
      queue.append("xyz".media)
      #expect(queue.names(played: 3) == "c12")
    }
  }

  @Test
  func `The first added item in play order becomes current in an empty shuffled queue`() throws {
    var queue = PlayQueue.of("", shuffled: true)
    queue.append(letters.media)
    #expect(queue.current == queue.playOrder.first && queue.names(played: 99).count == 26)
    queue = .of("a", shuffled: true)
    queue.remove(try #require(queue.id("a")))
    queue.insertNext("bc".media)
    #expect(queue.names(played: 99) == "bc")
  }

  @Test func `A move in the list does not change the shuffled order`() throws {
    for source in 0..<8 {
      for target in 0..<8 {
        var queue = PlayQueue.of("abcdefgh", shuffled: true)
        queue.advance(.ended)
        let order = queue.playOrder
        let (current, moved) = (queue.current, queue.items[source])
        queue.move(moved.id, to: target)
        #expect(queue.items[target] == moved)
        #expect(queue.playOrder == order && queue.current == current)
      }
    }
  }

  @Test func `Removing the current item selects the next one of the shuffled order`() throws {
    var queue = PlayQueue.of(letters, shuffled: true)
    queue.advance(.ended)
    let order = Array(queue.orderNames)
    queue.remove(try #require(queue.current?.id))
    #expect(
      queue.currentName == String(order[2]) && queue.previous()?.media.title == String(order[0]))
    #expect(queue.orderNames == String([order[0]] + order[2...]))
  }

  @Test func `Every round plays all items, orders vary, and no item plays twice in a row`() throws {
    for seed in 0..<200 as Range<UInt64> {
      var queue = PlayQueue.of("abcd", repeating: .all, shuffled: true, seed: seed)
      var rounds: [String] = []
      for _ in 0..<6 {
        var round = try #require(queue.currentName)
        for _ in 0..<3 { round += try #require(queue.advance(.ended)?.media.title) }
        #expect(round.sorted() == ["a", "b", "c", "d"])
        #expect(rounds.last?.last != round.first)
        rounds.append(round)
        queue.advance(.ended)
      }
      #expect(Set(rounds).count > 1)
    }
  }

  @Test func `The first item of the next round is known before the round begins`() {
    for seed in 0..<50 as Range<UInt64> {
      var queue = PlayQueue.of("abc", repeating: .all, shuffled: true, seed: seed)
      for _ in 0..<20 {
        let next = queue.next(.ended)
        #expect(next == queue.next(.asked))
        #expect(queue.advance(.ended) == next)
      }
    }
  }

  @Test func `Going back leads into the previous round`() {
    for seed in 0..<50 as Range<UInt64> {
      var queue = PlayQueue.of("abcde", repeating: .all, shuffled: true, seed: seed)
      var played = [queue.currentName]
      for _ in 0..<5 { played.append(queue.advance(.ended)?.media.title) }
      for name in played.dropLast().reversed() {
        #expect(queue.goBack()?.media.title == name)
      }
      #expect(queue.goBack() == nil)
      #expect(queue.orderNames.sorted() == ["a", "b", "c", "d", "e"])
      for name in played.dropFirst().dropLast() {
        #expect(queue.advance(.ended)?.media.title == name)
      }
    }
  }

  @Test func `Rewinding begins the same order again with no previous item`() {
    var queue = PlayQueue.of(letters, repeating: .all, shuffled: true)
    for _ in 0..<40 { queue.advance(.ended) }
    let order = queue.orderNames
    queue.rewind()
    #expect(queue.orderNames == order && queue.currentName == order.first.map(String.init))
    #expect(queue.previous() == nil)
  }

  @Test func `Removing the current item of a repeated shuffle selects the announced next one`() {
    for seed in 0..<100 as Range<UInt64> {
      var queue = PlayQueue.of("abcd", repeating: .all, shuffled: true, seed: seed)
      while let current = queue.current {
        let next = queue.next(.asked)
        queue.remove(current.id)
        #expect(queue.current == (next == current ? nil : next))
        queue.advance(.ended)
      }
      #expect(queue.isEmpty)
    }
  }
}
