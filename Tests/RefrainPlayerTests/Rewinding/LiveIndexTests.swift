// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

/// What is kept in memory of a recorded stream.
struct LiveIndexTests {
  @Test func `Points are a quarter of a second apart, whatever headers they have`() {
    var index = LiveIndex()
    for number in 0..<10_000 {
      index.add(
        LivePoint(
          offset: Int64(number) * 60, time: .milliseconds(100 * number), header: number / 7))
    }
    #expect((2000...4000).contains(index.points.count))
    for (one, other) in zip(index.points, index.points.dropFirst()) {
      #expect(other.time - one.time >= LiveIndex.interval && other.offset > one.offset)
    }
  }

  @Test func `Streams that begin without any sound take one point`() {
    var index = LiveIndex()
    for number in 0..<1000 {
      index.add(LivePoint(offset: Int64(number) * 60, time: .zero, header: number))
    }
    // A decoder has the last one's headers for what follows.
    #expect(index.points == [LivePoint(offset: 999 * 60, time: .zero, header: 999)])
  }

  @Test func `The latest titles are kept`() {
    var ring = LiveRing(keeping: .seconds(60), blockSize: 16 << 10)
    let count = LiveRing.titleLimit + 100
    for number in 0..<count {
      ring.note(StreamTitle(title: "Title \(number)", offset: Int64(number)))
    }
    #expect(ring.titles.count == LiveRing.titleLimit)
    #expect(ring.titles.first?.title == "Title 100")
    #expect(ring.titles.last?.title == "Title \(count - 1)")
  }
}
