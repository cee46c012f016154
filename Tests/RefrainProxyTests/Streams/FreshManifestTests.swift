// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Manifests that are fresh, of which the origin need not be asked, while it may be unreachable.
@Suite(.timeLimit(.minutes(1))) struct FreshManifestTests {
  private static let low = "#EXT-X-STREAM-INF:BANDWIDTH=1000\nlow.m3u8\n"
  private static let high = "#EXT-X-STREAM-INF:BANDWIDTH=2000\nhigh.m3u8\n"
  private static let main = "#EXTM3U\n" + low + high
  private static let stored = "#EXTM3U\n" + low
  private static let start = """
    <MPD type="static" mediaPresentationDuration="PT4S"><Period><AdaptationSet contentType="video">
    <SegmentTemplate duration="4" media="$RepresentationID$$Number$.ts"/>

    """
  private static let description = start + representation("low") + representation("high") + end
  private static let end = "</AdaptationSet></Period></MPD>\n"

  private static func representation(_ id: String) -> String { "<Representation id=\"\(id)\"/>" }

  /// Serves a stream of two variants with one segment each at `/main.m3u8`, and the same as an MPD.
  private func serve(_ test: TestProxy, _ headers: [Field], lastModified: Date? = nil) {
    func serve(_ text: String, at path: String, _ type: String) {
      test.origin.serve(
        OriginResource(
          .bytes(Array(text.utf8)), contentType: type, etag: "\"v1\"", lastModified: lastModified,
          headers: headers),
        at: path)
    }
    serve(Self.main, at: "/main.m3u8", "application/vnd.apple.mpegurl")
    serve(Self.description, at: "/main.mpd", "application/dash+xml")
    for name in ["low", "high"] {
      test.serve("#EXTM3U\n#EXTINF:4,\n\(name)1.ts\n#EXT-X-ENDLIST\n", at: "/\(name).m3u8")
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/\(name)1.ts")
    }
  }

  /// Runs a test a minute after the manifest and its parts were stored.
  private func withStored(
    _ names: [String], _ control: String = "max-age=3600",
    _ body: (TestProxy, LiveTime) async throws -> Void
  ) async throws {
    let time = LiveTime()
    try await withProxy(cache: { $0.clock = time.now }) { test in
      serve(test, [Field("Cache-Control", control)])
      for name in names {
        try await test.cache.prefetch(Resource(url: test.origin.url("/\(name)")))
      }
      time.advance(to: 60)
      try await body(test, time)
    }
  }

  private static let lowOfMain = ["main.m3u8", "low.m3u8", "low1.ts"]

  @Test(arguments: ["max-age=3600", "max-age=3600, must-revalidate"])
  func `A fresh playlist names what is stored if its origin cannot be reached`(
    _ control: String
  ) async throws {
    try await withStored(Self.lowOfMain, control) { test, time in
      await test.origin.stopListening()
      for second in [60.0, 61, 75] {
        time.advance(to: second)
        let reply = try await test.get("/main.m3u8")
        #expect(reply.status == 200 && reply.text == Self.stored, "\(second)")
        #expect(reply["Cache-Control"] == "no-cache")
      }
      try await test.origin.resumeListening()
      time.advance(to: 90)
      #expect(try await test.get("/main.m3u8").text == Self.main)
    }
  }

  @Test func `A fresh MPD describes what is stored if its origin cannot be reached`() async throws {
    try await withStored(["main.mpd", "low1.ts"]) { test, _ in
      await test.origin.stopListening()
      let reply = try await test.get("/main.mpd")
      #expect(reply.text == Self.start + Self.representation("low") + Self.end)
    }
  }

  @Test func `The origin is asked once in ten seconds, whoever plays`() async throws {
    try await withStored(Self.lowOfMain) { test, time in
      for second in [60.0, 60, 65, 69, 75] {
        time.advance(to: second)
        let reply = try await test.get("/main.m3u8")
        #expect(reply.text == Self.main, "\(second)")
      }
      let statuses = test.origin.log("/main.m3u8").requests.compactMap(\.status)
      #expect(statuses.dropFirst() == [304, 304])
    }
  }

  @Test(arguments: [lowOfMain + ["high.m3u8", "high1.ts"], ["main.m3u8"]])
  func `Of a stream that is stored whole, or not at all, the origin is not asked`(
    _ names: [String]
  ) async throws {
    try await withStored(names) { test, _ in
      let online = try await test.get("/main.m3u8")
      await test.origin.stopListening()
      let offline = try await test.get("/main.m3u8")
      #expect(online.text == Self.main && offline.text == Self.main)
      #expect(test.origin.log("/main.m3u8").requests.count == 1)
    }
  }

  @Test func `A playlist that has changed is served as it is now`() async throws {
    try await withStored(Self.lowOfMain) { test, _ in
      test.serve(Self.stored + "#EXT-X-INDEPENDENT-SEGMENTS\n", at: "/main.m3u8", etag: "\"v2\"")
      let reply = try await test.get("/main.m3u8")
      #expect(reply.text == Self.stored + "#EXT-X-INDEPENDENT-SEGMENTS\n")
    }
  }

  @Test func `An error of the origin leaves what is stored`() async throws {
    try await withStored(Self.lowOfMain) { test, _ in
      test.origin.script("/main.m3u8", .on(.all, .status(404)))
      let reply = try await test.get("/main.m3u8")
      #expect(reply.status == 200 && reply.text == Self.stored)
    }
  }

  /// Another reader's failed request is as good as an own one.
  @Test func `A stale playlist that could not be confirmed a moment ago names what is stored`()
    async throws
  {
    let time = LiveTime()
    try await withProxy(cache: { $0.clock = time.now }) { test in
      // Fresh for ten seconds, by a guess.
      serve(test, [], lastModified: time.clock.date - 100)
      for name in Self.lowOfMain {
        try await test.cache.prefetch(Resource(url: test.origin.url("/\(name)")))
      }
      let open = try await test.cache.open(test.origin.url("/main.m3u8"), fill: .onDemand)
      defer { open.cancel() }
      time.advance(to: 60)
      await test.origin.stopListening()
      for second in [60.0, 62] {
        time.advance(to: second)
        #expect(try await test.get("/main.m3u8").text == Self.stored, "\(second)")
      }
    }
  }

  @Test func `A shared cache does not ask for its many clients`() async throws {
    let time = LiveTime()
    try await withReverseProxy(cache: { $0.clock = time.now }) { test in
      serve(test, [Field("Cache-Control", "max-age=3600")])
      for name in Self.lowOfMain { _ = try await test.get("/\(name)") }
      time.advance(to: 60)
      #expect(try await test.get("/main.m3u8").text == Self.main)
      #expect(test.origin.log("/main.m3u8").requests.count == 1)
    }
  }
}
