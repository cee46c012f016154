// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainProxy

/// Live streams that are recorded, so that a player can go back.
@Suite(.timeLimit(.minutes(1))) struct StreamRecordingTests {
  /// A recorded stream of segments of one second, five in the origin's playlist.
  private struct Recorded: Sendable {
    let test: TestProxy
    let time: LiveTime
    let recording: StreamRecording

    var name: CacheKey { test.key("/live/live.m3u8") }

    func reply(_ url: URL) async throws -> Reply {
      let target = String(url.absoluteString.dropFirst("http://\(test.host)".count))
      return try await test.connect { try await $0.reply(to: target, host: test.host) }
    }

    func list() async throws -> HLSMediaPlaylist {
      let reply = try await reply(recording.url)
      try #require(reply.status == 200)
      return try #require(HLSMediaPlaylist(Array(reply.body), url: recording.url))
    }

    /// Requests a segment by its name in the playlist.
    func segment(_ number: Int) async throws -> Reply {
      try await reply(
        try #require(URL(string: "s\(number).ts", relativeTo: recording.url)).absoluteURL)
    }

    /// Begins to play.
    func play() async throws {
      let first = try #require(try await list().segments.first)
      _ = try await segment(Int(first.sequence))
    }

    /// Lets the time pass, with reloads each second as the recording makes them.
    ///
    /// - Parameter last: the segment that is stored at the end; nil: the newest one.
    func advance(to seconds: Int, storing last: Int? = nil) async throws {
      for second in Int(time.clock.now / .seconds(1)) + 1...seconds {
        time.advance(to: Double(second))
        await recording.reload(name)
        await recording.store(name)
      }
      // The recording stores them, too, and may have taken the last one.
      try await eventually("the segments are stored") {
        try await isStored(last ?? seconds + 4)
      }
    }

    func requests(of number: Int) -> Int { test.origin.log("/live/s\(number).ts").requests.count }

    func isStored(_ number: Int) async throws -> Bool {
      try await test.cache.entry(for: test.key("/live/s\(number).ts"))?.isComplete == true
    }
  }

  private static let bytes: Int64 = 3000

  private func withRecording(
    _ count: Int = 60, bytes: Int64 = Self.bytes, keeping: Duration = .seconds(100),
    cache: (inout MediaCache.Configuration) -> Void = { _ in },
    change: (inout LiveStream) -> Void = { _ in }, _ body: (Recorded) async throws -> Void
  ) async throws {
    var stream = LiveStream(liveSegments(count, of: 1, bytes: bytes))
    (stream.window, stream.segmentsAtStart) = (5, 5)
    change(&stream)
    try await withLiveStream(stream, cache: cache) { test, time in
      let recording = try test.proxy.record(
        Resource(url: test.origin.url("/live/live.m3u8")), keeping: keeping
      ) { _ in
        // The tests reload by themselves.
        try await Task.sleep(for: .seconds(600))
      }
      try await body(Recorded(test: test, time: time, recording: recording))
      recording.stop()
    }
  }

  @Test func `A paused player can go back to where it began`() async throws {
    try await withRecording { live in
      #expect(live.recording.window == nil && live.recording.start == nil)
      let first = try await live.list()
      // Three seconds before the end.
      #expect(first.segments.map(\.uri) == ["s2.ts", "s3.ts", "s4.ts"] && first.type == .event)
      #expect(live.recording.window == nil)
      _ = try await live.segment(2)
      // The player is paused: it requests nothing.
      try await live.advance(to: 20)
      // What it began with is stored, what it did not play has left.
      #expect(live.recording.window == 2..<25 && live.recording.lead == 3)
      #expect(live.recording.begin(at: 4) == 4)
      let list = try await live.list()
      #expect(list.segments.map(\.uri) == (4..<25).map { "s\($0).ts" })
      await live.test.origin.stopListening()
      for number in 4..<25 {
        let reply = try await live.segment(number)
        #expect(
          Array(reply.body)
            == SyntheticBytes(seed: UInt64(number)).bytes(in: 0..<Self.bytes))
      }
      #expect((2..<25).map { live.requests(of: $0) } == Array(repeating: 1, count: 23))
      #expect(live.requests(of: 0) == 0 && live.requests(of: 1) == 0)
      #expect(live.recording.begin(at: nil) == 22)
    }
  }

  @Test func `A list that the origin keeps long can be played from its start`() async throws {
    try await withRecording(
      change: { ($0.window, $0.segmentsAtStart) = (30, 30) }
    ) { live in
      try await live.play()
      await live.recording.store(live.name)
      #expect(live.recording.window == 0..<30 && live.recording.start == 27)
      #expect(live.requests(of: 5) == 0)
      #expect(live.recording.begin(at: 5) == 5)
      #expect(try await live.list().segments.first?.uri == "s5.ts")
      #expect(try await live.segment(5).status == 200)
      // What was not played leaves with the origin's playlist.
      try await live.advance(to: 10, storing: 39)
      #expect(live.recording.window?.lowerBound == 10)
    }
  }

  @Test func `No more is kept than was asked for`() async throws {
    let bytes: Int64 = 40_000
    try await withRecording(bytes: bytes, keeping: .seconds(8)) { live in
      try await live.play()
      try await live.advance(to: 30)
      let window = try #require(live.recording.window)
      #expect(window.upperBound == 35 && window.lowerBound == 26)
      // The proxy holds the one open that the player has requested.
      for number in 3..<35 {
        let isStored = try await live.isStored(number)
        #expect(isStored == (number >= 26), "\(number)")
      }
      // A jump back stores nothing again.
      #expect(live.recording.begin(at: 26) == 26)
      for number in 26..<35 {
        let reply = try await live.segment(number)
        #expect(reply.status == 200, "\(number)")
        // The origin may be asked whether it is still the same.
        let answers = live.test.origin.log("/live/s\(number).ts").requests.map(\.status)
        #expect(answers.filter { $0 != 304 } == [206], "\(number)")
      }
      // The window, the list, and what the proxy holds open, with their records.
      let usage = try await live.test.cache.usage()
      #expect((10...12).contains(usage.entries), "\(usage)")
      #expect((9 * bytes...12 * (bytes + (16 << 10))).contains(usage.allocatedBytes), "\(usage)")
    }
  }

  @Test func `A recording takes at most half of the cache's limit`() async throws {
    let limit: Int64 = 2 << 20
    let bytes: Int64 = 40_000
    try await withRecording(bytes: bytes, cache: { $0.limit = limit }) { live in
      try await live.play()
      try await live.advance(to: 50)
      let window = try #require(live.recording.window)
      #expect(window.upperBound == 55)
      // One is dropped once the next one is stored.
      let most = limit / 2 / bytes + 1
      #expect((most - 1...most).contains(Int64(window.upperBound - window.lowerBound)))
      let usage = try await live.test.cache.usage()
      #expect(usage.allocatedBytes <= limit)
    }
  }

  @Test func `The recording waits for a lost network`() async throws {
    try await withRecording { live in
      try await live.play()
      try await live.advance(to: 4)
      await live.test.origin.stopListening()
      await live.test.origin.closeConnections()
      try await live.advance(to: 6, storing: 8)
      #expect(live.recording.failure?.code == .unreachable)
      #expect(try await live.list().segments.count == 7)
      try await live.test.origin.resumeListening()
      try await live.advance(to: 8)
      #expect(live.recording.failure == nil && live.recording.window == 2..<13)
    }
  }

  @Test func `A segment that the origin has a little later is stored, too`() async throws {
    try await withRecording { live in
      live.test.origin.script("/live/s7.ts", .on(.first(2), .status(404)))
      try await live.play()
      try await live.advance(to: 6)
      #expect(try await live.isStored(7))
    }
  }

  @Test func `A playlist that the origin no longer has ends with what is recorded`() async throws {
    try await withRecording { live in
      try await live.play()
      try await live.advance(to: 4)
      live.test.origin.script("/live/live.m3u8", .on(.all, .status(404)))
      try await live.advance(to: 10, storing: 8)
      #expect(live.recording.failure?.status == 404)
      let list = try await live.list()
      #expect(list.isEnded && list.segments.last?.uri == "s8.ts")
    }
  }

  /// A player loads the stream's own URL again for each jump. What it leads to may be another
  /// session, or need a token that has expired.
  @Test(arguments: [true, false]) func `What led to the playlists is not requested again`(
    isRedirect: Bool
  ) async throws {
    try await withRecording { live in
      let origin = live.test.origin
      let master = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlive.m3u8\n"
      origin.serve(
        OriginResource(
          .bytes(Array(master.utf8)), contentType: "application/vnd.apple.mpegurl",
          headers: [Field("Cache-Control", "no-store")]), at: "/live/master.m3u8")
      origin.script("/live/entrance.m3u8", .on(.all, .redirect(302, to: "/live/master.m3u8")))
      let name = isRedirect ? "entrance" : "master"
      let recording = try live.test.proxy.record(
        Resource(url: origin.url("/live/\(name).m3u8")), keeping: .seconds(100)
      ) { _ in try await Task.sleep(for: .seconds(600)) }
      defer { recording.stop() }
      /// Returns the URL of the multivariant playlist.
      func load() async throws -> URL {
        var url = recording.url
        var reply = try await live.reply(url)
        if isRedirect {
          try #require(reply.status == 302)
          url = try #require(reply["Location"].flatMap { URL(string: $0, relativeTo: url) })
            .absoluteURL
          reply = try await live.reply(url)
        }
        try #require(reply.status == 200)
        #expect(String(decoding: reply.body, as: UTF8.self).contains("live.m3u8"))
        return url
      }
      let url = try await load()
      let list = try #require(URL(string: "live.m3u8", relativeTo: url)).absoluteURL
      _ = try await live.reply(list)
      _ = try await live.reply(try #require(URL(string: "s2.ts", relativeTo: url)).absoluteURL)
      let before = ["entrance", "master"].map { origin.log("/live/\($0).m3u8").requests.count }
      for name in ["entrance", "master"] {
        origin.script("/live/\(name).m3u8", .on(.all, .status(403)))
      }
      #expect(recording.begin(at: 2) != nil)
      #expect(try await load() == url)
      #expect(try await live.reply(list).status == 200)
      let after = ["entrance", "master"].map { origin.log("/live/\($0).m3u8").requests.count }
      #expect(before == after)
    }
  }

  @Test func `A broadcast that ends can be played from its beginning`() async throws {
    try await withRecording(12) { live in
      try await live.play()
      try await live.advance(to: 20, storing: 11)
      #expect(live.recording.window == 2..<12 && live.recording.begin(at: 0) == 2)
      let list = try await live.list()
      #expect(list.isEnded && list.segments.map(\.uri) == (2..<12).map { "s\($0).ts" })
    }
  }

  @Test func `A stream with an end is given as it is`() async throws {
    try await withRecording(5) { live in
      let reply = try await live.reply(live.recording.url)
      #expect(String(decoding: reply.body, as: UTF8.self).contains("#EXT-X-ENDLIST"))
      #expect(try await live.list().segments.count == 5)
      _ = try await live.segment(0)
      #expect(live.recording.window == nil && live.recording.begin(at: 3) == nil)
    }
  }

  @Test func `A recording that is over requests nothing more`() async throws {
    try await withRecording { live in
      try await live.play()
      try await live.advance(to: 3)
      live.recording.stop()
      try await live.advance(to: 5, storing: 7)
      #expect(live.requests(of: 9) == 0 && live.recording.window == nil)
      // The origin's own playlist.
      #expect(try await live.list().segments.map(\.uri) == (5..<10).map { "s\($0).ts" })
    }
  }

  @Test func `Other clients of the same stream are given the origin's playlist`() async throws {
    try await withRecording { live in
      try await live.play()
      try await live.advance(to: 10)
      _ = live.recording.begin(at: 3)
      let reply = try await live.test.get("/live/live.m3u8")
      #expect(!reply.text.contains("EVENT") && reply.text.contains("s14.ts"))
      #expect(!reply.text.contains("s9.ts"))
    }
  }
}
