// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

/// The order in which tags are looked up.
struct TagPlanTests {
  private let tags = MediaMetadata(title: "T", artist: "A", album: "B")

  private func queue(_ count: Int, at index: Int = 0, _ base: String = "http://h/") throws
    -> PlayQueue
  {
    var queue = PlayQueue(seed: 1)
    queue.replace(
      with: try (0..<count).map { Media(try #require(URL(string: "\(base)\($0).mp3"))) },
      startingAt: index)
    return queue
  }

  /// Looks everything up, in order.
  private func all(_ plan: inout TagPlan, answer: TagLookup.Answer = .init()) -> [String] {
    var names: [String] = []
    while let next = plan.next(besides: nil) {
      names.append(next.url.deletingPathExtension().lastPathComponent)
      _ = plan.note(answer, of: next)
    }
    return names
  }

  @Test func `The items ahead come in play order, and then those from the start`() throws {
    var plan = TagPlan()
    _ = plan.update(try queue(6, at: 3), preferred: [])
    #expect(all(&plan) == ["4", "5", "0", "1", "2"])
  }

  @Test func `Of a long queue, twenty items on an origin are looked up, and many files`() throws {
    var plan = TagPlan()
    _ = plan.update(try queue(5000), preferred: [])
    #expect(all(&plan) == (1...20).map { "\($0)" })
    _ = plan.update(try queue(5000, "file:///m/"), preferred: [])
    #expect(all(&plan).count == TagPlan.filesAhead)
  }

  @Test func `Items on display come first`() throws {
    var plan = TagPlan()
    let queue = try queue(100)
    _ = plan.update(queue, preferred: [queue.items[70].id, queue.items[71].id])
    #expect(all(&plan).prefix(3) == ["70", "71", "1"])
  }

  @Test func `A shuffled queue is looked up in its own order`() throws {
    var plan = TagPlan()
    var queue = try queue(9)
    queue.setShuffled(true)
    _ = plan.update(queue, preferred: [])
    let order = queue.playOrder.dropFirst().map {
      $0.media.url.deletingPathExtension().lastPathComponent
    }
    #expect(all(&plan) == order)
  }

  @Test func `Media that is described, or a manifest, is left out`() throws {
    let url = try #require(URL(string: "http://h/a.flac"))
    #expect(TagPlan.mayHaveTags(Media(url)))
    #expect(TagPlan.mayHaveTags(Media(url, title: "T")))
    #expect(!TagPlan.mayHaveTags(Media(url, title: "T", artist: "A", album: "B")))
    let list = try #require(URL(string: "http://h/a.m3u8"))
    #expect(!TagPlan.mayHaveTags(Media(list)))
  }

  @Test func `Answers count for every item of the same media, and none is looked up twice`() throws
  {
    var plan = TagPlan()
    var queue = try queue(3)
    queue.append(queue.items.map(\.media))
    _ = plan.update(queue, preferred: [])
    let first = try #require(plan.next(besides: nil))
    let found = plan.note(.init(tags: tags), of: first)
    #expect(found.map(\.0) == [queue.items[1], queue.items[4]])
    // The current item's own media occurs a second time.
    #expect(all(&plan) == ["2", "0"])
    queue.append([queue.items[1].media, queue.items[2].media])
    let known = plan.update(queue, preferred: [])
    #expect(known.map(\.0.id) == [1, 4, 6].map { queue.items[$0].id })
    #expect(plan.next(besides: nil) == nil)
    #expect(plan.update(queue, preferred: []).isEmpty)
  }

  @Test func `What is being fetched already waits`() throws {
    var plan = TagPlan()
    let queue = try queue(3)
    _ = plan.update(queue, preferred: [])
    let busy = queue.items[1].media.asEngineMedia.resource
    let next = try #require(plan.next(besides: busy))
    #expect(next.url == queue.items[2].media.url)
    _ = plan.note(.init(), of: next)
    #expect(plan.next(besides: busy) == nil && plan.next(besides: nil) != nil)
  }

  @Test func `An origin without ranges is asked for nothing more`() throws {
    var plan = TagPlan()
    _ = plan.update(try queue(4), preferred: [])
    let first = try #require(plan.next(besides: nil))
    #expect(!plan.isOnlyStored(first))
    _ = plan.note(.init(tags: tags, refusesRanges: true), of: first)
    #expect(plan.isOnlyStored(try #require(plan.next(besides: nil))))
    let other = try #require(URL(string: "http://other/a.mp3"))
    #expect(!plan.isOnlyStored(TagSubject(Media(other))))
  }

  @Test func `An origin that cannot be reached is asked again with the next item`() throws {
    var plan = TagPlan()
    var queue = try queue(4)
    _ = plan.update(queue, preferred: [])
    let first = try #require(plan.next(besides: nil))
    _ = plan.note(.init(isUnreachable: true), of: first)
    #expect(plan.next(besides: nil) == nil)
    queue.advance(.asked)
    _ = plan.update(queue, preferred: [])
    #expect(plan.next(besides: nil)?.url == queue.items[2].media.url)
  }
}
