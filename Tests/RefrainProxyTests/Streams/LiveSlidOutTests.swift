// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Segments that have left a live playlist make room before anything else.
@Suite(.timeLimit(.minutes(1))) struct LiveSlidOutTests {
  private func isStored(_ name: String, _ test: TestProxy) async throws -> Bool {
    try await test.cache.entry(for: test.key("/live/\(name)")) != nil
  }

  /// The proxy holds no entry open for requests with credentials.
  private static let headers = ["Authorization: Basic YTpi"]

  /// Plays the stream for ten segments of one second.
  private func play(_ stream: LiveStream, _ test: TestProxy, _ time: LiveTime) async throws {
    for second in 0..<10 {
      time.advance(to: Double(second))
      let list = try await test.get("/live/live.m3u8")
      #expect(list.status == 200)
      let segment = try await test.get("/live/s\(second + 2).ts", Self.headers)
      #expect(segment.body.count == 40_000)
      // A client that plays with a delay finds what left the list three seconds ago.
      for number in max(2, second - 3)..<second + 3 {
        #expect(try await isStored("s\(number).ts", test), "\(number) at \(second)")
      }
    }
  }

  private func stream(window: Int?) -> LiveStream {
    var stream = LiveStream(liveSegments(60, of: 1, bytes: 40_000))
    (stream.window, stream.segmentsAtStart) = (window, 3)
    return stream
  }

  @Test func `Segments that slid out are removed beyond their budget, the oldest first`()
    async throws
  {
    // The budget is a sixteenth: three segments with their records.
    try await withLiveStream(stream(window: 3), cache: { $0.limit = 2_400_000 }) {
      test, time in
      try await play(stream(window: 3), test, time)
      // An entry is closed some time after its last request; it is looked at again with each list.
      try await eventually("the oldest segments are removed") {
        time.advance(to: time.clock.now / .seconds(1) + 1)
        _ = try await test.get("/live/live.m3u8")
        let isThere = try await isStored("s5.ts", test)
        return !isThere
      }
      var stored: [Int] = []
      for number in 2..<12 where try await isStored("s\(number).ts", test) { stored.append(number) }
      #expect(!stored.isEmpty && stored == Array((12 - stored.count)..<12))
    }
  }

  @Test func `Those of a growing list stay`() async throws {
    try await withLiveStream(stream(window: nil), cache: { $0.limit = 2_400_000 }) {
      test, time in
      try await play(stream(window: nil), test, time)
      for step in 1...5 {
        time.advance(to: 10 + Double(step) * 5)
        _ = try await test.get("/live/live.m3u8")
      }
      for number in 2..<12 { #expect(try await isStored("s\(number).ts", test), "\(number)") }
    }
  }

  /// A playlist may name any URL, also one that no client has requested from it.
  @Test func `A file that is no part of the stream stays, although its list drops it`()
    async throws
  {
    let time = LiveTime()
    try await withProxy(cache: {
      $0.clock = time.now
      $0.limit = 2_400_000
    }) { test in
      func serve(_ segments: String, from sequence: Int) {
        test.serve(
          "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(sequence)\n\(segments)",
          at: "/live/live.m3u8", etag: "\"\(sequence)\"")
      }
      for name in ["/film.mp4", "/live/s.ts"] {
        test.origin.serve(.synthetic(seed: 1, length: 400_000), at: name)
      }
      try await test.cache.prefetch(test.origin.url("/film.mp4"))
      serve("#EXTINF:1,\n/film.mp4\n#EXTINF:1,\ns.ts\n", from: 0)
      _ = try await test.get("/live/live.m3u8")
      let segment = try await test.get("/live/s.ts", Self.headers)
      #expect(segment.body.count == 400_000)
      serve("#EXTINF:1,\nnext.ts\n", from: 2)
      // Both have left the list, and each is more than the budget. The film's turn is the first.
      try await eventually("the segment is removed") {
        time.advance(to: time.clock.now / .seconds(1) + 5)
        _ = try await test.get("/live/live.m3u8")
        return try await !isStored("s.ts", test)
      }
      #expect(try await test.cache.entry(for: test.key("/film.mp4"))?.isComplete == true)
    }
  }
}
