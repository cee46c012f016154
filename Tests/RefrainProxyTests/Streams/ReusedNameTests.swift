// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Live streams whose segments have the names of earlier ones, from servers that say nothing of how
/// long a response is fresh.
@Suite(.timeLimit(.minutes(1))) struct ReusedNameTests {
  /// How an origin identifies the versions of a file.
  enum Validators: CaseIterable {
    case dates, tags, none

    func apply(to stream: inout LiveStream) {
      stream.sendsETags = self == .tags
      // So old that a guess makes the segments fresh for hours.
      stream.modified = self == .dates ? Date(timeIntervalSince1970: 1_000_000_000) : nil
    }
  }

  private func stream(seed: UInt64, _ validators: Validators) -> LiveStream {
    let segments = (0..<12).map { number in
      LiveStream.Segment(
        SyntheticBytes(seed: seed + UInt64(number)).bytes(in: 0..<3000), duration: .seconds(2))
    }
    var stream = LiveStream(segments)
    (stream.window, stream.segmentsAtStart) = (3, 3)
    validators.apply(to: &stream)
    return stream
  }

  /// Requests the playlist, and checks each segment that it lists.
  private func check(_ test: TestProxy, _ stream: LiveStream, at time: Duration) async throws {
    let list = try await test.get("/live/live.m3u8")
    #expect(list.text == stream.playlist(at: time))
    let extent = stream.extent(at: time)
    for number in stream.firstListed(at: extent)..<extent.segments {
      let reply = try await test.get("/live/\(stream.name(number))")
      #expect(reply.status == 200 && reply.body == stream.segments[number].bytes, "\(number)")
    }
  }

  private func withEitherProxy(
    isShared: Bool, _ body: (TestProxy, LiveTime) async throws -> Void
  ) async throws {
    let time = LiveTime()
    let setTime: (inout MediaCache.Configuration) -> Void = { $0.clock = time.now }
    if isShared {
      try await withReverseProxy(cache: setTime) { try await body($0, time) }
    } else {
      try await withProxy(cache: setTime) { try await body($0, time) }
    }
  }

  @Test(arguments: Validators.allCases, [false, true])
  func `A segment is fetched again once its name comes back`(
    validators: Validators, isShared: Bool
  ) async throws {
    var stream = stream(seed: 100, validators)
    stream.nameCount = 4
    try await withEitherProxy(isShared: isShared) { [stream] test, time in
      test.origin.serve(stream, under: "/live/", clock: time.clock)
      for second in stride(from: 0, through: 18, by: 1) {
        time.advance(to: Double(second))
        // A shared cache asks for what has neither a validator nor a lifetime each time.
        try await check(test, stream, at: .seconds(second))
      }
      guard !isShared || validators == .dates else { return }
      for name in 0..<4 {
        // No request while a segment stays listed.
        #expect(test.origin.log("/live/s\(name).ts").requests.count == 3)
      }
    }
  }

  @Test(arguments: Validators.allCases, [false, true])
  func `A stream that begins again does not play the segments of before`(
    validators: Validators, isShared: Bool
  ) async throws {
    let (first, second) = (stream(seed: 100, validators), stream(seed: 200, validators))
    var later = second
    later.modified = later.modified.map { $0 + 60 }
    later.sendsETags = false
    try await withEitherProxy(isShared: isShared) { [later] test, time in
      test.origin.serve(first, under: "/live/", clock: time.clock)
      for second in [0, 2, 4] {
        time.advance(to: Double(second))
        try await check(test, first, at: .seconds(second))
      }
      let restarted = LiveClock.standing()
      test.origin.serve(later, under: "/live/", clock: restarted)
      for second in [0, 2, 4] {
        time.advance(to: Double(10 + second))
        restarted.advance(to: .seconds(second))
        try await check(test, later, at: .seconds(second))
      }
    }
  }

  @Test(arguments: Validators.allCases)
  func `The segments of an earlier broadcast are confirmed once by another process`(
    validators: Validators
  ) async throws {
    try await withSuccession { origin, directory in
      let (first, second) = (stream(seed: 100, validators), stream(seed: 200, validators))
      var later = second
      later.modified = later.modified.map { $0 + 60 }
      if validators == .tags { later.sendsETags = false }
      // The same broadcast, then another one.
      let streams = [first, first, later]
      for (number, stream) in streams.enumerated() {
        let time = LiveTime()
        let setTime: (inout MediaCache.Configuration) -> Void = { $0.clock = time.now }
        try await withProxy(directory: directory, origin: origin, cache: setTime) { test in
          origin.serve(stream, under: "/live/", clock: time.clock)
          for _ in 0..<2 { try await check(test, stream, at: .zero) }
        }
        for name in 0..<3 {
          #expect(origin.log("/live/s\(name).ts").requests.count == number + 1)
        }
      }
    }
  }

  @Test func `A segment whose name comes back is not played unconfirmed`() async throws {
    var stream = stream(seed: 100, .dates)
    stream.nameCount = 4
    try await withEitherProxy(isShared: false) { [stream] test, time in
      test.origin.serve(stream, under: "/live/", clock: time.clock)
      try await check(test, stream, at: .zero)
      time.advance(to: 4)
      _ = try await test.get("/live/live.m3u8")
      test.origin.script("/live/s0.ts", .on(.all, .status(503)))
      #expect(try await test.get("/live/s0.ts").status == 503)
    }
  }

  @Test func `A manifest for one client has a shared cache confirm nothing`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/live/chunk-1.m4s", ["Cache-Control": "max-age=600"])
      for day in 1...3 {
        let text = """
          <MPD type="dynamic" availabilityStartTime="2026-01-0\(day)T00:00:00Z"
          minimumUpdatePeriod="PT0S"><Period start="PT0S"><AdaptationSet contentType="video">
          <Representation id="v" bandwidth="1"><SegmentTemplate duration="2"
          media="chunk-$Number$.m4s"/></Representation></AdaptationSet></Period></MPD>
          """
        test.serve(
          text, at: "/live/main.mpd", type: "application/dash+xml",
          headers: [Field("Cache-Control", "private")])
        #expect(try await test.get("/live/main.mpd").text.contains("chunk-$Number$.m4s"))
        #expect(try await test.get("/live/chunk-1.m4s").body == Caching.bytes(1))
      }
      #expect(test.origin.log("/live/chunk-1.m4s").requests.count == 1)
    }
  }

  @Test(arguments: [false, true])
  func `A presentation that begins again does not play the segments of before`(
    isOtherProcess: Bool
  ) async throws {
    try await withSuccession { origin, directory in
      func serve(_ seed: UInt64, from start: String) {
        let text = """
          <MPD type="dynamic" availabilityStartTime="\(start)" minimumUpdatePeriod="PT0S"><Period
          start="PT0S"><AdaptationSet contentType="video"><Representation id="v" bandwidth="1">
          <SegmentTemplate duration="2" initialization="init.mp4" media="chunk-$Number$.m4s"/>
          </Representation></AdaptationSet></Period></MPD>
          """
        origin.serve(
          OriginResource(.bytes(Array(text.utf8)), contentType: "application/dash+xml"),
          at: "/live/main.mpd")
        for name in ["init.mp4", "chunk-1.m4s"] {
          origin.serve(
            OriginResource(
              .synthetic(seed: seed, length: 3000),
              lastModified: Date(timeIntervalSince1970: 1_000_000_000 + Double(seed))),
            at: "/live/\(name)")
        }
      }
      func check(_ test: TestProxy, _ seed: UInt64) async throws {
        for _ in 0..<2 {
          #expect(try await test.get("/live/main.mpd").status == 200)
          for name in ["init.mp4", "chunk-1.m4s"] {
            let reply = try await test.get("/live/\(name)")
            #expect(reply.body == SyntheticBytes(seed: seed).bytes(in: 0..<3000), "\(name)")
          }
        }
      }
      try await withProxy(directory: directory, origin: origin) { test in
        serve(1, from: "2026-01-01T00:00:00Z")
        try await check(test, 1)
        #expect(origin.log("/live/chunk-1.m4s").requests.count == 1)
        guard !isOtherProcess else { return }
        serve(2, from: "2026-01-02T00:00:00Z")
        try await check(test, 2)
      }
      if isOtherProcess {
        try await withProxy(directory: directory, origin: origin) { test in
          serve(2, from: "2026-01-02T00:00:00Z")
          try await check(test, 2)
        }
      }
      #expect(origin.log("/live/chunk-1.m4s").requests.count == 2)
    }
  }
}
