// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// Live streams of the scripted origin: values of the time, and responses that wait for it.
@Suite(.timeLimit(.minutes(1))) struct LiveStreamTests {
  private func stream(
    _ count: Int = 12, _ change: (inout LiveStream) -> Void = { _ in }
  ) -> LiveStream {
    var stream = LiveStream(
      (0..<count).map { number in
        LiveStream.Segment(
          SyntheticBytes(seed: UInt64(number)).bytes(in: 0..<1001), duration: .seconds(4),
          isDiscontinuity: number == 2)
      })
    change(&stream)
    return stream
  }

  private func lowLatency(_ stream: inout LiveStream) {
    stream.lowLatency = .init(partTarget: .milliseconds(1500))
    stream.lowLatency?.canSkipUntil = .seconds(24)
    stream.segmentsAtStart = 8
  }

  /// Runs a test with a server of the stream under `/a/`, whose clock stands still.
  private func with(
    _ stream: LiveStream,
    _ body: (OriginServer, LiveClock) async throws -> Void
  ) async throws {
    let origin = try await OriginServer.start()
    let clock = LiveClock.standing()
    origin.serve(stream, under: "/a/", clock: clock)
    do { try await body(origin, clock) } catch {
      await origin.stop()
      throw error
    }
    await origin.stop()
  }

  private func get(
    _ path: String, _ headers: [String] = [], from origin: OriginServer
  ) async throws -> Reply {
    try await RawConnection.open(port: origin.port) {
      try await $0.reply(to: "/a/\(path)", headers)
    }
  }

  // MARK: The playlist

  @Test func `A sliding list drops its first segments, and counts their discontinuities`() {
    let stream = stream { ($0.window, $0.segmentsAtStart) = (3, 3) }
    #expect(
      stream.playlist(at: .seconds(7.9)) == """
        #EXTM3U
        #EXT-X-VERSION:6
        #EXT-X-TARGETDURATION:4
        #EXT-X-MEDIA-SEQUENCE:1
        #EXTINF:4.000000,
        s1.ts
        #EXT-X-DISCONTINUITY
        #EXTINF:4.000000,
        s2.ts
        #EXTINF:4.000000,
        s3.ts

        """)
    let late = stream.playlist(at: .seconds(8 + 4))
    #expect(late.contains("#EXT-X-DISCONTINUITY-SEQUENCE:1\n#EXTINF:4.000000,\ns3.ts"))
    #expect(!late.contains("#EXT-X-ENDLIST"))
    #expect(stream.playlist(at: .seconds(36)).hasSuffix("s11.ts\n#EXT-X-ENDLIST\n"))
  }

  @Test func `A growing list keeps all segments`() {
    let list = stream().playlist(at: .seconds(40))
    #expect(list.contains("#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-MEDIA-SEQUENCE:0\n"))
    #expect(list.contains("s0.ts") && list.contains("s10.ts") && !list.contains("s11.ts"))
  }

  @Test func `Parts of the last segments are listed, and the next one is hinted at`() {
    let stream = stream(12, lowLatency)
    let list = stream.playlist(at: .seconds(3))
    #expect(
      list.hasSuffix(
        """
        #EXT-X-PART:DURATION=1.500000,URI="s8.0.ts"
        #EXT-X-PART:DURATION=1.500000,URI="s8.1.ts"
        #EXT-X-PRELOAD-HINT:TYPE=PART,URI="s8.2.ts"

        """))
    #expect(list.contains("#EXT-X-PART:DURATION=1.000000,URI=\"s7.2.ts\"\n#EXTINF"))
    #expect(!list.contains("s4.0.ts") && list.contains("s5.0.ts"))
    #expect(list.contains("PART-HOLD-BACK=4.500000,CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=24.000000"))
    let parts = (0..<3).map { stream.range(of: 8, part: $0) }
    #expect(parts.map(\.count).reduce(0, +) == 1001 && parts[0].upperBound == parts[1].lowerBound)
  }

  @Test func `Given parts keep their bytes, and the first of a segment is independent`()
    async throws
  {
    let parts = [3, 1, 2].map { SyntheticBytes(seed: UInt64($0)).bytes(in: 0..<Int64($0 * 100)) }
    var stream = LiveStream([.init(parts: parts, duration: .seconds(4))])
    stream.lowLatency = .init(partTarget: .milliseconds(1500))
    try await with(stream) { [stream] origin, clock in
      let list = try await get("live.m3u8", from: origin).text
      #expect(list == stream.playlist(at: .zero))
      let lines = list.split(separator: "\n").filter { $0.hasPrefix("#EXT-X-PART:") }
      #expect(
        lines == [
          "#EXT-X-PART:DURATION=1.500000,INDEPENDENT=YES,URI=\"s0.0.ts\"",
          "#EXT-X-PART:DURATION=1.500000,URI=\"s0.1.ts\"",
          "#EXT-X-PART:DURATION=1.000000,URI=\"s0.2.ts\"",
        ])
      for (number, part) in parts.enumerated() {
        let reply = try await get("s0.\(number).ts", from: origin)
        #expect(reply.body == part, "part \(number)")
      }
      let whole = try await get("s0.ts", from: origin)
      #expect(whole.body == parts.flatMap { $0 })
    }
  }

  @Test func `A delta update leaves out what is older than it may`() {
    let stream = stream(12, lowLatency)
    let delta = stream.playlist(at: .zero, skips: true)
    #expect(delta.contains("#EXT-X-SKIP:SKIPPED-SEGMENTS=1\n"))
    #expect(!delta.contains("s0.ts") && delta.contains("s1.ts"))
  }

  // MARK: Responses

  @Test func `A blocking reload waits for its segment or part`() async throws {
    try await with(stream(12, lowLatency)) { origin, clock in
      for (query, due) in [("_HLS_msn=8&_HLS_part=0", 1.5), ("_HLS_msn=8", 4)] {
        async let reply = get("live.m3u8?\(query)", from: origin)
        try await origin.wait(for: "/a/live.m3u8") { $0.stalled == 1 }
        clock.advance(to: .seconds(due))
        let text = try await reply.text
        #expect(text == stream(12, lowLatency).playlist(at: .seconds(due)))
      }
      // A part behind the last one of a segment is the first of the next.
      async let next = get("live.m3u8?_HLS_msn=8&_HLS_part=7", from: origin)
      try await origin.wait(for: "/a/live.m3u8") { $0.stalled == 1 }
      clock.advance(to: .seconds(5.5))
      let listsNext = try await next.text.contains("URI=\"s9.0.ts\"\n#EXT-X-PRELOAD")
      #expect(listsNext)
      for query in ["_HLS_msn=99", "_HLS_part=1", "_HLS_msn=x", "_HLS_msn=9&_HLS_part=-1"] {
        let refused = try await get("live.m3u8?\(query)", from: origin)
        #expect(refused.status == 400, "\(query)")
      }
    }
  }

  @Test func `A hinted part waits until it exists, and a later one is missing`() async throws {
    try await with(stream(12, lowLatency)) { origin, clock in
      let later = try await get("s8.1.ts", from: origin)
      #expect(later.status == 404)
      async let reply = get("s8.0.ts", from: origin)
      try await origin.wait(for: "/a/s8.0.ts") { $0.stalled == 1 }
      clock.advance(to: .seconds(1.5))
      let part = try await reply
      let range = stream(12, lowLatency).range(of: 8, part: 0)
      let bytes = SyntheticBytes(seed: 8).bytes(in: 0..<1001)[range]
      #expect(part.status == 200 && part.body == Array(bytes) && part["Cache-Control"] == nil)
      let whole = try await get("s8.ts", from: origin)
      #expect(whole.status == 404)
    }
  }

  @Test func `A range of a segment that is being written ends with the last part`() async throws {
    let stream = stream {
      lowLatency(&$0)
      $0.lowLatency?.usesByteRanges = true
    }
    try await with(stream) { origin, clock in
      #expect(stream.playlist(at: .zero).contains("TYPE=PART,URI=\"s8.ts\",BYTERANGE-START=0\n"))
      async let reply = get("s8.ts", ["Range: bytes=0-"], from: origin)
      try await origin.wait(for: "/a/s8.ts") { $0.stalled == 1 }
      clock.advance(to: .seconds(1.5))
      let part = try await reply
      let end = stream.range(of: 8, part: 0).upperBound
      #expect(part.status == 206 && part["Content-Range"] == "bytes 0-\(end - 1)/*")
      #expect(part.body == SyntheticBytes(seed: 8).bytes(in: 0..<Int64(end)))
    }
  }

  @Test func `A segment is served for as long again as it was listed`() async throws {
    try await with(stream { ($0.window, $0.segmentsAtStart) = (2, 2) }) { origin, clock in
      var statuses: [Int] = []
      for second in [0, 4, 12, 16, 20] {
        clock.advance(to: .seconds(second))
        statuses.append(try await get("s0.ts", from: origin).status)
      }
      #expect(statuses == [200, 200, 200, 404, 404])
    }
  }

  @Test func `Dates follow the stream's clock`() async throws {
    try await with(stream()) { origin, clock in
      let first = try await get("live.m3u8", from: origin)["Date"]
      clock.advance(to: .seconds(3600))
      let second = try await get("live.m3u8", from: origin)["Date"]
      #expect(first != nil && first != second)
    }
  }

  @Test func `A client that leaves while it waits is counted as gone`() async throws {
    try await with(stream(12, lowLatency)) { origin, clock in
      try await RawConnection.open(port: origin.port) { connection in
        try await connection.request("/a/s8.0.ts")
        try await origin.wait(for: "/a/s8.0.ts") { $0.stalled == 1 }
      }
      let log = try await origin.wait(for: "/a/s8.0.ts") { $0.stalled == 0 }
      #expect(log.running == 0 && log.requests.count == 1)
      clock.advance(to: .seconds(2))
      let later = try await get("s8.0.ts", from: origin)
      #expect(later.status == 200)
    }
  }
}
