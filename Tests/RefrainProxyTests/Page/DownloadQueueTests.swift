// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The queue of downloads: order, states and bounds.
@Suite struct DownloadQueueTests {
  private func queue(_ count: Int) -> DownloadQueue {
    var queue = DownloadQueue()
    for number in 1...count { _ = queue.add("https://example.org/\(number)", isPinned: false) }
    return queue
  }

  private func order(_ queue: DownloadQueue) -> [UInt64] { queue.items.map(\.id) }

  @Test func `As many as fit run at a time, in order`() {
    var queue = queue(4)
    let begun1 = queue.begin()
    #expect(begun1.map(\.id) == [1, 2])
    let begun2 = queue.begin()
    #expect(begun2.isEmpty)
    queue.end(1, error: nil)
    let begun3 = queue.begin()
    #expect(begun3.map(\.id) == [3])
    queue.end(2, error: "The origin is gone.")
    let begun4 = queue.begin()
    #expect(begun4.map(\.id) == [4])
    #expect(queue.items.map(\.state) == [.done, .failed, .running, .running])
    #expect(queue[2]?.error == "The origin is gone.")
  }

  @Test func `A paused download makes room, and waits for its turn when it goes on`() {
    var queue = queue(3)
    _ = queue.begin()
    let isPaused = queue.pause(1)
    #expect(isPaused)
    let begun5 = queue.begin()
    #expect(begun5.map(\.id) == [3])
    let isResumed = queue.resume(1)
    #expect(isResumed)
    let begun6 = queue.begin()
    #expect(begun6.isEmpty)
    queue.end(2, error: nil)
    let begun7 = queue.begin()
    #expect(begun7.map(\.id) == [1])
  }

  @Test func `The end of a download that was paused meanwhile changes nothing`() {
    var queue = queue(1)
    _ = queue.begin()
    let isPaused = queue.pause(1)
    queue.end(1, error: nil)
    let again = [queue.pause(1), queue.pause(9)]
    #expect(isPaused && again == [false, false])
    #expect(queue[1]?.state == .paused)
  }

  @Test func `A download that is to be pinned while it runs begins once more`() {
    var queue = queue(1)
    _ = queue.begin()
    let again = queue.add("https://example.org/1", isPinned: true)
    #expect(again?.state == .running && again?.isPinned == true)
    queue.end(1, error: nil)
    #expect(queue[1]?.state == .waiting)
    let begun = queue.begin()
    #expect(begun.map(\.isPinned) == [true])
    queue.end(1, error: nil)
    #expect(queue[1]?.state == .done)
  }

  @Test func `Any download can be pinned later`() {
    var queue = queue(2)
    _ = queue.begin()
    queue.end(1, error: nil)
    let isPinned = [queue.pin(1), queue.pin(2), queue.pin(9)]
    #expect(isPinned == [true, true, false])
    #expect(queue.items.map(\.state) == [.waiting, .running])
    let begun = queue.begin()
    #expect(begun.map(\.id) == [1] && begun.map(\.isPinned) == [true])
    queue.end(1, error: nil)
    queue.end(2, error: nil)
    #expect(queue.items.map(\.state) == [.done, .waiting])
    // It is already.
    let again = queue.pin(1)
    #expect(again && queue[1]?.state == .done)
  }

  @Test func `A failed download goes on without its error, a complete one does not`() {
    var queue = queue(2)
    _ = queue.begin()
    queue.end(1, error: "It failed.")
    queue.end(2, error: nil)
    let resumed = [queue.resume(1), queue.resume(2)]
    #expect(resumed == [true, false])
    #expect(queue[1]?.state == .waiting && queue[1]?.error == nil)
  }

  @Test func `Moving stays within the queue, and decides which is next`() {
    var queue = queue(4)
    let isMoved = queue.move(4, by: -2)
    #expect(isMoved && order(queue) == [1, 4, 2, 3])
    let further = [queue.move(1, by: .max), queue.move(3, by: .min), queue.move(7, by: 1)]
    #expect(further == [true, true, false])
    #expect(order(queue) == [3, 4, 2, 1])
    let begun8 = queue.begin()
    #expect(begun8.map(\.id) == [3, 4])
  }

  @Test func `A URL is in the queue once`() {
    var queue = queue(2)
    let again = queue.add("https://example.org/1", isPinned: true)
    #expect(again?.id == 1)
    #expect(queue[1]?.isPinned == true)
    _ = queue.begin()
    queue.end(1, error: nil)
    let added = queue.add("https://example.org/1", isPinned: false)
    #expect(added?.id == 3)
    #expect(order(queue) == [2, 3])
  }

  @Test func `The queue is bounded, and forgets the oldest complete downloads`() {
    var queue = DownloadQueue()
    for number in 0..<200 {
      let item = queue.add("https://example.org/\(number)", isPinned: false)
      _ = queue.begin()
      queue.end(item?.id ?? 0, error: nil)
    }
    #expect(queue.items.count <= 51)
    for number in 0..<DownloadQueue.longest {
      _ = queue.add("https://example.org/x\(number)", isPinned: false)
    }
    #expect(queue.items.count == DownloadQueue.longest)
    let refused = queue.add("https://example.org/more", isPinned: false)
    #expect(refused == nil)
  }

  @Test func `A queue from a file runs what waited or ran, and leaves the rest`() throws {
    var queue = queue(5)
    _ = queue.begin()
    queue.end(2, error: "It failed.")
    queue.note(1, stored: 10, total: 20)
    let isPaused = queue.pause(4)
    let isPinned = queue.pin(5)
    #expect(isPaused && isPinned)
    let text = try JSONEncoder().encode(queue.saved)
    var next = DownloadQueue()
    _ = next.add("https://example.org/own", isPinned: false)
    _ = next.add("https://example.org/3", isPinned: false)
    next.restore(try JSONDecoder().decode([DownloadQueue.Saved].self, from: text))
    #expect(
      next.items.map { $0.url.split(separator: "/").last } == ["1", "2", "4", "5", "own", "3"])
    #expect(next.items.map(\.state) == [.waiting, .failed, .paused, .waiting, .waiting, .waiting])
    #expect(next.items.first?.stored == 10 && next.items.first?.total == 20)
    #expect(next.items[1].error == "It failed.")
    #expect(next.items.map(\.isPinned) == [false, false, false, true, false, false])
    #expect(Set(order(next)).count == 6)
    let begun = next.begin()
    #expect(begun.map { $0.url.last } == ["1", "5"])
  }

  @Test func `What another version has written does not run by itself`() throws {
    let text = """
      [{"url": "https://example.org/a", "state": "scheduled", "at": 5},
       {"url": "https://example.org/b", "state": "running", "stored": -1, "total": 5},
       {"url": "https://example.org/b", "state": "running"}]
      """
    var queue = DownloadQueue()
    queue.restore(try JSONDecoder().decode([DownloadQueue.Saved].self, from: Data(text.utf8)))
    #expect(queue.items.map(\.state) == [.paused, .waiting])
    #expect(queue.items.map(\.stored) == [0, 0])
  }

  @Test func `A queue from a file is bounded, too`() {
    var queue = queue(10)
    let saved = (0..<2 * DownloadQueue.longest).map {
      DownloadQueue.Saved(url: "https://example.org/x\($0)", state: "waiting")
    }
    queue.restore(saved)
    #expect(queue.items.count == DownloadQueue.longest)
    #expect(queue.items.last?.url == "https://example.org/10")
  }
}
