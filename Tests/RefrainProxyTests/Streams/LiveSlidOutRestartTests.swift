// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Segments that had left a live playlist before the proxy started, and those of MPDs.
@Suite(.timeLimit(.minutes(1))) struct LiveSlidOutRestartTests {
  /// The proxy holds no entry open for requests with credentials.
  private static let headers = ["Authorization: Basic YTpi"]

  private func isStored(_ path: String, _ test: TestProxy) async throws -> Bool {
    try await test.cache.entry(for: test.key(path)) != nil
  }

  private func play(_ list: String, _ segments: [String], _ test: TestProxy) async throws {
    let manifest = try await test.get(list)
    #expect(manifest.status == 200)
    for segment in segments {
      test.origin.serve(.synthetic(seed: 1, length: 40_000), at: segment)
      let reply = try await test.get(segment, Self.headers)
      #expect(reply.body.count == 40_000)
    }
  }

  /// Requests a manifest each second until a segment is removed: of six segments, the budget of a
  /// sixteenth of the limit holds three.
  private func waitForRemoval(
    of segment: String, requesting list: String, _ test: TestProxy, _ time: LiveTime
  ) async throws {
    try await eventually("\(segment) is removed") {
      time.advance(to: time.clock.now / .seconds(1) + 1)
      _ = try await test.get(list)
      return try await !isStored(segment, test)
    }
  }

  private func change(_ time: LiveTime) -> (inout MediaCache.Configuration) -> Void {
    return { configuration in
      configuration.clock = time.now
      configuration.limit = 2_400_000
    }
  }

  @Test func `What slid out before the proxy started is removed, and what other lists name stays`()
    async throws
  {
    let directory = FileManager.default.temporaryDirectory.appending(
      path: "refrain-slid-out-test-\(UUID().uuidString)", directoryHint: .isDirectory)
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    let time = LiveTime()
    let live = (0..<6).map { "/live/s\($0).ts" }
    let event = (0..<2).map { "/live/e\($0).ts" }
    let main =
      "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlive.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=2\nevent.m3u8\n"
    let head = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
    try await withProxy(directory: directory, origin: origin, cache: change(time)) { test in
      test.serve(main, at: "/live/main.m3u8")
      let listed = (0..<6).map { "#EXTINF:1,\ns\($0).ts\n" }.joined()
      test.serve(head + listed, at: "/live/live.m3u8", etag: "\"0\"")
      test.serve(
        head + "#EXT-X-PLAYLIST-TYPE:EVENT\n#EXTINF:1,\ne0.ts\n#EXTINF:1,\ne1.ts\n",
        at: "/live/event.m3u8")
      _ = try await test.get("/live/main.m3u8")
      try await play("/live/live.m3u8", live, test)
      try await play("/live/event.m3u8", event, test)
    }
    time.advance(to: 100)
    try await withProxy(directory: directory, origin: origin, cache: change(time)) { test in
      test.serve(
        head + "#EXT-X-MEDIA-SEQUENCE:100\n#EXTINF:1,\ns100.ts\n", at: "/live/live.m3u8",
        etag: "\"100\"")
      _ = try await test.get("/live/main.m3u8")
      try await waitForRemoval(of: live[0], requesting: "/live/live.m3u8", test, time)
      for path in event { #expect(try await isStored(path, test), "\(path)") }
      // The latest of them fit into the budget.
      #expect(try await isStored(live[5], test))
    }
    await origin.stop()
  }

  @Test func `Segments that an MPD names no more are removed`() async throws {
    let time = LiveTime()
    func mpd(from start: Int) -> String {
      """
      <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="dynamic" minimumUpdatePeriod="PT1S"
        availabilityStartTime="2026-01-01T00:00:00Z" timeShiftBufferDepth="PT6S"><Period start="PT0S">
      <AdaptationSet mimeType="video/mp4"><Representation id="v" bandwidth="1"><SegmentTemplate
        media="s-$Time$.m4s" initialization="init.mp4"><SegmentTimeline><S t="\(start)" d="1" r="5"/>
      </SegmentTimeline></SegmentTemplate></Representation></AdaptationSet></Period></MPD>
      """
    }
    try await withProxy(cache: change(time)) { test in
      let segments = (0..<6).map { "/live/s-\($0).m4s" }
      let type = "application/dash+xml"
      test.serve(mpd(from: 0), at: "/live/x.mpd", type: type, etag: "\"0\"")
      try await play("/live/x.mpd", segments + ["/live/init.mp4"], test)
      time.advance(to: 5)
      test.serve(mpd(from: 100), at: "/live/x.mpd", type: type, etag: "\"100\"")
      try await waitForRemoval(of: segments[0], requesting: "/live/x.mpd", test, time)
      #expect(try await isStored("/live/init.mp4", test))
    }
  }
}
