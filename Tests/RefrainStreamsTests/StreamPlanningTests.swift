// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The planning of long streams, which blocks no thread of Swift's and can be cancelled.
@Suite(.timeLimit(.minutes(1))) struct StreamPlanningTests {
  private static let presentation = """
    <MPD type="static" mediaPresentationDuration="PT8S"><Period>
    <SegmentTemplate duration="4" media="$Number$.m4s"/>
    <AdaptationSet contentType="video"><Representation id="a" bandwidth="1"/></AdaptationSet>
    </Period></MPD>
    """
  private static let playlist = "#EXTM3U\n#EXTINF:4,\n0.ts\n#EXT-X-ENDLIST\n"

  @Test(arguments: [("/main.mpd", presentation), ("/main.m3u8", playlist)])
  func `A cancelled download is not planned`(_ path: String, _ text: String) async throws {
    try await withCache { test in
      test.origin.serve(OriginResource(.bytes(Array(text.utf8)), etag: "\"1\""), at: path)
      let resource = Resource(url: test.origin.url(path))
      try await test.cache.prefetch(resource)
      let download = StreamDownload(resource, into: test.cache)
      let source = try #require(try await download.source())
      #expect(try await download.select(StreamChoice(), of: source).plan.parts.isEmpty == false)
      let planning = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await download.select(StreamChoice(), of: source)
      }
      await #expect(throws: CancellationError.self) { try await planning.value }
    }
  }

  @Test func `Cancelling a task ends its long work on another thread`() async throws {
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await IOThreads.background.runCancellably {
        begin.finish()
        while !Task.isCancelled { sched_yield() }
      }
    }
    for await _ in begun {}
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `A plan ends where its task is cancelled`() async throws {
    let url = try #require(URL(string: "https://h.example/main.m3u8"))
    let playlist = try #require(HLSMediaPlaylist(Array(Self.playlist.utf8), url: url))
    let presentation = try #require(
      try DASHPresentation(Array(Self.presentation.utf8), url: url))
    let planning = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      var plan = StreamPlan()
      plan.append(playlist, at: url)
      var allowance = DASHPresentation.Allowance()
      let representations = presentation.periods[0].sets[0].representations
      try plan.append(representations, duration: 8, &allowance)
      return plan
    }
    #expect(try await planning.value.parts.isEmpty)
  }
}
