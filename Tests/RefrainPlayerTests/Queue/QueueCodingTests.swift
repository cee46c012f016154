// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

extension PlayQueue {
  func throughJSON() throws -> PlayQueue {
    try JSONDecoder().decode(PlayQueue.self, from: try JSONEncoder().encode(self))
  }
}

@Suite struct QueueCodingTests {
  @Test func `A stored queue continues as the original does`() throws {
    var queue = PlayQueue.of("abcdefgh", repeating: .all, shuffled: true)
    for _ in 0..<13 { queue.advance(.ended) }
    var stored = try queue.throughJSON()
    #expect(stored == queue)
    for _ in 0..<40 { #expect(stored.advance(.ended) == queue.advance(.ended)) }
    #expect(stored.append("x".media) == queue.append("x".media))
    #expect(stored == queue)
  }

  @Test func `The details of media are stored with the queue`() throws {
    var queue = PlayQueue()
    for milliseconds in [1, 100, 1234567, 3_600_001, 999_999_999_999] {
      queue.append([
        Media(
          try #require(URL(string: "https://a.example/x?y=1")),
          headers: ["Authorization": "Bearer t"],
          key: CacheKey(rawValue: "k"), title: "T", artist: "A", album: "B",
          artwork: URL(string: "https://a.example/c.jpg"), duration: .milliseconds(milliseconds))
      ])
    }
    #expect(try queue.throughJSON() == queue)
  }

  @Test func `The URL of chapters is stored, and old queues without it are read`() throws {
    var media = Media(URL(fileURLWithPath: "/a.flac"))
    media.chaptersURL = URL(string: "https://a.example/c.json")
    var queue = PlayQueue()
    queue.append([media, Media(media.url)])
    #expect(try queue.throughJSON() == queue)
    let old = try JSONDecoder().decode(PlayQueue.self, from: Data(Self.good.utf8))
    #expect(old.items.allSatisfy { $0.media.chaptersURL == nil })
    let bad = Self.good.replacingOccurrences(
      of: #""url":"file:///a.mp3""#, with: #""url":"file:///a.mp3","duration":-1"#)
    #expect(throws: DecodingError.self) {
      _ = try JSONDecoder().decode(PlayQueue.self, from: Data(bad.utf8))
    }
  }

  /// An invalid duration is treated as unknown, and the queue still decodes.
  @Test(arguments: [Duration.seconds(-1), .seconds(Int64.max)])
  func `An impossible duration is not stored`(_ duration: Duration) throws {
    var queue = PlayQueue()
    queue.append([Media(URL(fileURLWithPath: "/a.mp3"), duration: duration)])
    #expect(try queue.throughJSON().current?.media.duration == nil)
  }

  /// The parts of a valid queue, each replaced by one that contradicts the others.
  @Test(arguments: [
    #""position":1 → "position":-1"#, #""position":1 → "position":4"#,
    #""position":1 → "position":9223372036854775807"#, #""position":1 → "position":2"#,
    #""position":1 → "position":1e99"#, #""position":1 → "position":"1""#,
    #""nextID":3 → "nextID":2"#, #""nextID":3 → "nextID":-1"#,
    #""nextID":3 → "nextID":18446744073709551615"#, #""nextID":3 → "nextID":9223372036854775807"#,
    #""rawValue":0 → "rawValue":1"#, #""rawValue":0 → "rawValue":18446744073709551615"#,
    #""rawValue":0 → "rawValue":-1"#, #""repeatMode":"off" → "repeatMode":"twice""#,
    #""indices":[0,1,2] → "indices":[0,1]"#, #""indices":[0,1,2] → "indices":[0,1,1]"#,
    #""indices":[0,1,2] → "indices":[0,1,3]"#, #""indices":[0,1,2] → "indices":[0,1,-1]"#,
    #""indices":[0,1,2] → "indices":[0,1,2,0]"#, #""settled":2 → "settled":1"#,
    #""settled":2 → "settled":4"#, #""settled":2 → "settled":-9223372036854775808"#,
    #""earlier":[] → "earlier":[3]"#, #""earlier":[] → "earlier":[-1]"#,
    #""state":5 → "state":-1"#, #""state":5 → "state":null"#,
  ]) func `A damaged queue is refused`(_ damage: String) throws {
    let good = Self.good
    _ = try JSONDecoder().decode(PlayQueue.self, from: Data(good.utf8))
    let parts = damage.components(separatedBy: " → ")
    let bad = good.replacingOccurrences(of: parts[0], with: parts[1])
    #expect(bad != good)
    #expect(throws: DecodingError.self) {
      _ = try JSONDecoder().decode(PlayQueue.self, from: Data(bad.utf8))
    }
  }

  @Test func `A history beyond its limit is refused`() {
    let history = Array(repeating: "0", count: ShuffledOrder.earlierLimit + 1)
    let bad = Self.good.replacingOccurrences(
      of: #""earlier":[]"#, with: "\"earlier\":[\(history.joined(separator: ","))]")
    #expect(throws: DecodingError.self) {
      _ = try JSONDecoder().decode(PlayQueue.self, from: Data(bad.utf8))
    }
  }

  /// Arbitrary numbers decode to a fully usable queue, or an error.
  @Test func `Damaged numbers never decode to an inconsistent queue`() throws {
    let seed = TestSeed.next()
    print("QueueCodingTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    let grains = ["0", "1", "2", "3", "4", "-1", "7", "9223372036854775807", "1.5", "null", "[]"]
    var decoded = 0
    for _ in 0..<3000 {
      var text = Self.good
      for _ in 0...Int.random(in: 0..<3, using: &generator) {
        let places = text.indices.filter { text[$0].isNumber }
        guard let place = places.randomElement(using: &generator),
          let grain = grains.randomElement(using: &generator)
        else { continue }
        text.replaceSubrange(place...place, with: grain)
      }
      guard var queue = try? JSONDecoder().decode(PlayQueue.self, from: Data(text.utf8)) else {
        continue
      }
      decoded += 1
      queue.repeatMode = .all
      #expect(Set(queue.playOrder) == Set(queue.items), "REFRAIN_SEED=\(seed)")
      queue.append("xy".media)
      #expect(Set(queue.items.map(\.id)).count == queue.items.count)
      for _ in 0..<8 { #expect(queue.next(.asked) == queue.advance(.asked)) }
      for _ in 0..<8 { #expect(queue.previous() == queue.goBack()) }
      for item in queue.items { queue.remove(item.id) }
      #expect(queue.isEmpty && queue.current == nil)
    }
    #expect(decoded > 50)
  }

  private static let good = """
    {"items":[{"id":{"rawValue":0},"media":{"url":"file:///a.mp3"}},\
    {"id":{"rawValue":1},"media":{"url":"file:///b.mp3"}},\
    {"id":{"rawValue":2},"media":{"url":"file:///c.mp3"}}],\
    "position":1,"repeatMode":"off","generator":{"state":5},"nextID":3,\
    "shuffled":{"indices":[0,1,2],"settled":2,"earlier":[]}}
    """
}
