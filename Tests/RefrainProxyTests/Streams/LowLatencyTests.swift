// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Low-latency HLS: parts, blocking reloads, preload hints and delta updates
/// (draft-pantos-hls-rfc8216bis §6.2.5).
@Suite(.timeLimit(.minutes(1))) struct LowLatencyTests {
  private static let path = "/live/live.m3u8"

  private func stream(_ change: (inout LiveStream) -> Void = { _ in }) -> LiveStream {
    var stream = LiveStream(liveSegments(30, of: 4, bytes: 200_000))
    stream.lowLatency = .init(partTarget: .seconds(1))
    (stream.window, stream.segmentsAtStart) = (8, 8)
    change(&stream)
    return stream
  }

  @Test func `Eight clients that reload with each part cost as many requests as one`()
    async throws
  {
    let stream = stream { $0.referencePrefix = "/live/" }
    try await withLiveStream(stream) { test, time in
      for part in 0..<12 {
        let path = "\(Self.path)?_HLS_msn=\(8 + part / 4)&_HLS_part=\(part % 4)"
        let due = Double(part + 1)
        let replies = try await test.getWithEight(path) { time.advance(to: due) }
        let place = "/\(test.token)/http/\(test.originHost)/live/"
        let list = stream.playlist(at: .seconds(due)).replacing("/live/", with: place)
        #expect(replies.allSatisfy { $0.status == 200 && $0.text == list }, "part \(part)")
        // A client that was slower is given the same.
        let late = try await test.get(path)
        #expect(late.text == list)
        #expect(test.origin.log(Self.path).requests.count == part + 1)
      }
    }
  }

  @Test func `A blocking reload responds once the origin does, past a stored list`() async throws {
    let stream = stream()
    try await withLiveStream(stream) { test, time in
      let plain = try await test.get(Self.path)
      let path = "\(Self.path)?_HLS_msn=8"
      async let reply = test.get(path)
      try await test.origin.wait(for: Self.path) { $0.stalled == 1 }
      // The segment is complete with its last part, and not before.
      for second in 1...3 { time.advance(to: Double(second)) }
      #expect(test.origin.log(Self.path).stalled == 1)
      time.advance(to: 4)
      let text = try await reply.text
      #expect(text == stream.playlist(at: .seconds(4)) && text != plain.text)
      // The list without a query is its own resource.
      let again = try await test.get(Self.path)
      #expect(again.text == text)
      let refused = try await test.get("\(Self.path)?_HLS_msn=99")
      #expect(refused.status == 400)
    }
  }

  @Test func `A delta update is its own response, whose references are rewritten`() async throws {
    let stream = stream {
      $0.window = nil
      $0.segmentsAtStart = 20
      $0.lowLatency?.canSkipUntil = .seconds(24)
      $0.referencePrefix = "/live/"
    }
    try await withLiveStream(stream) { test, time in
      let place = "/\(test.token)/http/\(test.originHost)/live/"
      let whole = try await test.get(Self.path).text
      let delta = try await test.get("\(Self.path)?_HLS_skip=YES").text
      #expect(delta.contains("#EXT-X-SKIP:SKIPPED-SEGMENTS=13\n"))
      let expected = stream.playlist(at: .zero, skips: true).replacing("/live/", with: place)
      #expect(delta == expected && whole.count > delta.count)
      let path = "\(Self.path)?_HLS_msn=20&_HLS_part=0&_HLS_skip=YES"
      let replies = try await test.getWithEight(path) { time.advance(to: 1) }
      let next = stream.playlist(at: .seconds(1), skips: true).replacing("/live/", with: place)
      #expect(replies.allSatisfy { $0.text == next })
      #expect(test.origin.log(Self.path).requests.count == 3)
    }
  }

  @Test func `A hinted part is one request for eight clients, and stored for its list`()
    async throws
  {
    let stream = stream()
    try await withLiveStream(stream) { test, time in
      let list = try await test.get(Self.path).text
      #expect(list.contains("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"s8.0.ts\""))
      let part = "/live/s8.0.ts"
      let bytes = SyntheticBytes(seed: 8).bytes(in: 0..<50_000)
      let replies = try await test.getWithEight(part) { time.advance(to: 1) }
      #expect(replies.allSatisfy { $0.status == 200 && $0.body == bytes })
      let next = try await test.get(Self.path).text
      #expect(next.contains("#EXT-X-PART:DURATION=1.000000,URI=\"s8.0.ts\"\n"))
      let listed = try await test.get(part)
      #expect(listed.body == bytes)
      let log = try await test.settledLog(part)
      #expect(log.requests.map(\.request.range) == ["bytes=0-"])
    }
  }

  @Test func `The bytes of a hinted part are passed on as they arrive`() async throws {
    try await withLiveStream(stream()) { test, time in
      let part = "/live/s8.0.ts"
      test.origin.script(part, .on(.all, .stall(at: .body(20_000))))
      let target = try test.target(part)
      try await test.connect { connection in
        try await connection.request(target, host: test.host)
        try await test.origin.wait(for: part) { $0.stalled == 1 }
        time.advance(to: 1)
        let head = try await connection.readHead()
        #expect(head.status == 200)
        let first = try await connection.read(upTo: 20_000)
        #expect(test.origin.log(part).stalled == 1)
        test.origin.release(part)
        let rest = try await connection.read(upTo: 30_000)
        #expect(first + rest == SyntheticBytes(seed: 8).bytes(in: 0..<50_000))
      }
      #expect(test.origin.log(part).requests.count == 1)
    }
  }

  @Test func `A hinted part in chunks is whole for clients that request it from its start on`()
    async throws
  {
    try await withLiveStream(stream()) { test, time in
      let part = "/live/s8.0.ts"
      test.origin.script(
        part, .on(.all, .ignoreRange, .chunked, .stall(at: .body(20_000), for: .milliseconds(20))))
      _ = try await test.get(Self.path)
      let replies = try await test.getWithEight(part, ["Range: bytes=0-"]) { time.advance(to: 1) }
      let bytes = SyntheticBytes(seed: 8).bytes(in: 0..<50_000)
      #expect(replies.allSatisfy { $0.body == bytes && $0.isComplete })
      let log = try await test.settledLog(part)
      #expect(log.bytesSentTwice == 0)
    }
  }

  @Test func `A part that the origin does not write is an error, and not remembered`()
    async throws
  {
    try await withLiveStream(stream()) { test, time in
      let missing = try await test.get("/live/s9.2.ts")
      #expect(missing.status == 404)
      time.advance(to: 8)
      let present = try await test.get("/live/s9.2.ts")
      #expect(present.status == 200 && present.body.count == 50_000)
    }
  }

  @Test(arguments: [true, false])
  func `Parts that are ranges of a growing segment arrive as they are written`(
    _ sendsETags: Bool
  ) async throws {
    let stream = stream {
      $0.lowLatency?.usesByteRanges = true
      $0.sendsETags = sendsETags
    }
    try await withLiveStream(stream) { test, time in
      let list = try await test.get(Self.path).text
      #expect(list.contains("TYPE=PART,URI=\"s8.ts\",BYTERANGE-START=0"))
      let (path, bytes) = ("/live/s8.ts", SyntheticBytes(seed: 8).bytes(in: 0..<200_000))
      // The first part as listed, the second as hinted.
      for (part, range) in [(0, "0-49999"), (1, "50000-")] {
        let replies = try await test.getWithEight(path, ["Range: bytes=\(range)"]) {
          time.advance(to: Double(part + 1))
        }
        let start = part * 50_000
        for reply in replies {
          #expect(reply.status == 206)
          #expect(reply["Content-Range"] == "bytes \(start)-\(start + 49_999)/*")
          #expect(reply.body == Array(bytes[start..<start + 50_000]))
        }
      }
      // As listed, from the store.
      for part in 0..<2 {
        let range = "\(part * 50_000)-\(part * 50_000 + 49_999)"
        let stored = try await test.get(path, ["Range: bytes=\(range)"])
        #expect(stored.status == 206 && stored["Content-Range"] == "bytes \(range)/*")
        #expect(stored.body == Array(bytes[part * 50_000..<(part + 1) * 50_000]))
      }
      time.advance(to: 4)
      let whole = try await test.get(path)
      #expect(whole.status == 200 && whole.body == bytes)
      let last = try await test.get(path, ["Range: bytes=150000-199999"])
      #expect(last.status == 206 && last["Content-Range"] == "bytes 150000-199999/200000")
      let log = try await test.settledLog(path)
      #expect(log.requests.first?.request.range == "bytes=0-49999")
      #expect(log.bytesSentTwice == 0)
    }
  }

  /// In a list of another kind: one that only grows older.
  @Test func `Eight clients of an ongoing list and of its segment cost what one of them costs`()
    async throws
  {
    try await withProxy { test in
      let list = (4...6).map { "#EXTINF:6,\n/s\($0).ts\n" }.joined()
      test.serve(
        "#EXTM3U\n#EXT-X-TARGETDURATION:60\n#EXT-X-MEDIA-SEQUENCE:4\n\(list)", at: "/live.m3u8")
      test.origin.serve(.synthetic(seed: 1, length: 200_000), at: "/s4.ts")
      for path in ["/live.m3u8", "/s4.ts"] {
        test.origin.script(path, .on(.first(1), .delay(nil)))
        let replies = try await test.getWithEight(path) { test.origin.release(path) }
        #expect(Set(replies.map(\.body)).count == 1 && replies[0].status == 200, "\(path)")
        #expect(test.origin.log(path).requests.count == 1, "\(path)")
      }
      #expect(try await test.get("/live.m3u8").text.contains("\(test.originPlace)/s4.ts"))
      let log = test.origin.log("/s4.ts")
      #expect(log.bytesSentTwice == 0 && log.distinctBytesSent == 200_000)
    }
  }
}
