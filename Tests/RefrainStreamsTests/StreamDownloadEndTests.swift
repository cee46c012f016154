// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain
@testable import RefrainStreams

/// DASH streams whose duration computes a last segment that the origin does not have.
@Suite(.timeLimit(.minutes(1))) struct StreamDownloadEndTests {
  private static func manifest(_ template: String) -> String {
    """
    <MPD type="static" mediaPresentationDuration="PT8.1S"><Period>
    <AdaptationSet contentType="video"><Representation id="v" bandwidth="1000">
    <SegmentTemplate \(template)</Representation></AdaptationSet>
    <AdaptationSet contentType="audio"><Representation id="a" bandwidth="1000">
    <SegmentTemplate \(template)</Representation></AdaptationSet></Period></MPD>
    """
  }

  private static let computed =
    "duration=\"4\" media=\"$RepresentationID$$Number$.m4s\" "
    + "initialization=\"$RepresentationID$0.m4s\"/>"
  private static let numbered = "endNumber=\"3\" " + computed
  private static let listed =
    "media=\"$RepresentationID$$Number$.m4s\" initialization=\"$RepresentationID$0.m4s\">"
    + "<SegmentTimeline><S t=\"0\" d=\"4\" r=\"2\"/></SegmentTimeline></SegmentTemplate>"

  private static func serve(
    _ origin: OriginServer, _ manifest: String, segments: ClosedRange<Int> = 0...2
  ) {
    origin.serve(
      OriginResource(
        .bytes(Array(manifest.utf8)), contentType: "application/dash+xml", etag: "\"d\""),
      at: "/main.mpd")
    for id in ["v", "a"] {
      for number in segments {
        origin.serve(.synthetic(seed: UInt64(number), length: 500), at: "/\(id)\(number).m4s")
      }
    }
  }

  /// Returns the bytes of all parts, and the last report.
  private static func download(
    _ test: TestCache
  ) async throws -> (Int64, StreamDownload.Progress) {
    let resource = Resource(url: test.origin.url("/main.mpd"))
    let download = StreamDownload(resource, into: test.cache)
    _ = try await download.bringFirst()
    let source = try #require(try await download.source())
    let selection = try await download.select(StreamChoice(), of: source)
    let last = LastReport()
    var reports = StreamDownload.Reports()
    reports.progress = { last.progress = $0 }
    let bytes = try await download.run(selection, reports: reports)
    return (bytes, last.progress)
  }

  private final class LastReport: Sendable {
    private let state = Mutex(StreamDownload.Progress())

    var progress: StreamDownload.Progress {
      get { state.withLock { $0 } }
      set { state.withLock { $0 = newValue } }
    }
  }

  private static func completeness(_ test: TestCache) async throws -> Bool? {
    try await test.cache.completeness(ofStream: CacheKey(url: test.origin.url("/main.mpd")))?
      .isComplete
  }

  @Test(arguments: [404, 410])
  func `A last segment that does not exist is the end of the stream`(status: Int) async throws {
    try await withCache { test in
      Self.serve(test.origin, Self.manifest(Self.computed))
      for id in ["v", "a"] {
        test.origin.script("/\(id)3.m4s", .on(.all, .status(status)))
      }
      for round in 1...2 {
        let (bytes, progress) = try await Self.download(test)
        #expect(bytes == 3000 && progress.isComplete)
        #expect(abs(progress.storedSeconds - progress.totalSeconds) < 0.001)
        #expect(try await Self.completeness(test) == true)
        for id in ["v", "a"] {
          // It is requested once by each download: it may exist by then.
          #expect(test.origin.log("/\(id)3.m4s").requests.count == round)
          #expect(test.origin.log("/\(id)2.m4s").requests.count == 1)
        }
      }
      test.cache.isOffline = true
      #expect(try await Self.download(test).0 == 3000)
      let url = test.origin.url("/main.mpd")
      let body = try #require(await test.cache.storedManifest(at: url)?.body)
      let stored = StoredVariants(cache: test.cache, url: url)
      #expect(try await !stored.isReducible(body))
      #expect(try await stored.filtered(body) == nil)
    }
  }

  @Test func `A last segment that exists belongs to the stream`() async throws {
    try await withCache { test in
      Self.serve(test.origin, Self.manifest(Self.computed), segments: 0...3)
      for path in ["main.mpd", "v0.m4s", "v1.m4s", "v2.m4s", "a0.m4s", "a1.m4s", "a2.m4s"] {
        try await test.cache.prefetch(test.origin.url("/\(path)"))
      }
      #expect(try await Self.completeness(test) == false)
      #expect(try await Self.download(test).0 == 4000)
      #expect(try await Self.completeness(test) == true)
    }
  }

  @Test(arguments: [
    (numbered, 0...2), (listed, 0...2), (computed, 0...1), (computed, 1...2),
  ])
  func `Any other segment that does not exist is an error`(
    template: String, segments: ClosedRange<Int>
  ) async throws {
    try await withCache { test async throws in
      Self.serve(test.origin, Self.manifest(template), segments: segments)
      let error = await #expect(throws: MediaCacheError.self) { try await Self.download(test) }
      #expect(error?.status == 404)
      #expect(try await Self.completeness(test) != true)
    }
  }
}
