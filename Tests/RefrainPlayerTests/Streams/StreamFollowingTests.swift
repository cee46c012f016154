// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer
@testable import RefrainPlayerStreams

/// How a stream that plays is followed in the cache. A scripted engine stands for the player's, and
/// requests of the test for its proxy's.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct StreamFollowingTests {
  private struct Rig {
    let origin: OriginServer
    let cache: MediaCache
    let engine: ScriptedEngine
    let streams: StreamEngine
    let referee: EngineReferee
    let reports: Reports

    @MainActor var progress: StreamProgress? { reports.all.last ?? nil }

    func fetch(_ segments: Int...) async throws {
      for segment in segments { try await cache.prefetch(origin.url("/\(segment).mp3")) }
    }
  }

  @MainActor
  private final class Reports {
    var all: [StreamProgress?] = []
  }

  /// - Parameters:
  ///   - clock: the cache's time; nil: the machine's.
  ///   - change: further changes to the cache's configuration.
  private func with(
    clock: LiveClock? = nil, cache change: (inout MediaCache.Configuration) -> Void = { _ in },
    _ body: (Rig) async throws -> Void
  ) async throws {
    try await withOrigin { configuration, _ in
      configuration.retry.firstDelay = .milliseconds(1)
      configuration.retry.longestDelay = .milliseconds(2)
      if let clock {
        let start = Uptime.now
        configuration.clock = {
          Moment(wall: clock.date, uptime: start + clock.now / .seconds(1))
        }
      }
      change(&configuration)
    } _: { origin, cache, _ in
      let engine = ScriptedEngine()
      let streams = StreamEngine(engine, cache: cache, streams: CachedStreams { $0.url })
      let reports = Reports()
      streams.reportProgress = { reports.all.append($0) }
      let referee = EngineReferee(streams)
      try await referee.closing {
        try await body(
          Rig(
            origin: origin, cache: cache, engine: engine, streams: streams, referee: referee,
            reports: reports))
      }
    }
  }

  /// Loads a stream, and plays it up to a position.
  private func play(
    _ media: Media, upTo position: Duration = .seconds(1), isLive: Bool = false, _ rig: Rig
  ) async throws -> EngineItem.ID {
    let id = rig.referee.load(media)
    try await eventually("it is loaded") { rig.engine.current?.item.streamURL != nil }
    rig.engine.take(.begin)
    if isLive { rig.engine.report?(.live(id)) }
    rig.engine.take(.ready)
    rig.engine.report?(.position(id, position))
    return id
  }

  private let lost = MediaCacheError(.unreachable, "It broke off.")

  @Test func `The stored times of a stream are reported as segments come and go`() async throws {
    try await with { rig in
      let stream = SilentStream()
      _ = try await play(Media(stream.serve(on: rig.origin)), rig)
      try await eventually("its duration is known") { rig.progress != nil }
      #expect(abs(try #require(rig.progress).duration / .seconds(1) - stream.seconds) < 0.01)
      #expect(rig.progress?.cachedRanges == [])
      try await rig.fetch(0, 1, 3)
      try await eventually("three are stored") { abs((rig.progress?.fraction ?? 0) - 0.3) < 0.01 }
      #expect(rig.progress?.cachedRanges.count == 2)
      try await rig.cache.remove(CacheKey(url: rig.origin.url("/0.mp3")))
      try await eventually("one is gone") { abs((rig.progress?.fraction ?? 0) - 0.2) < 0.01 }
      for segment in 0..<10 { try await rig.fetch(segment) }
      try await eventually("all are stored") { rig.progress?.isComplete == true }
    }
  }

  /// Runs a test with a stream of two segments of four seconds in one file. The first request for
  /// the file stalls in the first segment, the second one in the second.
  ///
  /// - Parameter body: receives the rig, the stream, and the file with the second segment's start.
  private func withTwoInOneFile(
    _ body: (Rig, Media, Resource, Int64) async throws -> Void
  ) async throws {
    let (length, middle): (Int64, Int64) = (16 << 20, 8 << 20)
    try await with(cache: { $0.keepRequestsApart() }) { rig in
      let text = """
        #EXTM3U
        #EXT-X-VERSION:4
        #EXT-X-TARGETDURATION:4
        #EXTINF:4,
        #EXT-X-BYTERANGE:\(middle)@0
        all.mp3
        #EXTINF:4,
        #EXT-X-BYTERANGE:\(length - middle)@\(middle)
        all.mp3
        #EXT-X-ENDLIST

        """
      rig.origin.serveManifest(text, at: "/one.m3u8")
      var file = OriginResource.synthetic(seed: 7, length: length)
      file.headers.append(Field("Cache-Control", "max-age=3600"))
      rig.origin.serve(file, at: "/all.mp3")
      rig.origin.script(
        "/all.mp3",
        .on(.number(1), .stall(at: .resource(500_000)))
          .on(.number(2), .stall(at: .resource(middle + 10))))
      try await body(
        rig, Media(rig.origin.url("/one.m3u8")), Resource(url: rig.origin.url("/all.mp3")), middle)
      rig.origin.release("/all.mp3")
    }
  }

  private let bothSegments = Duration.zero..<Duration.seconds(8)
  private let secondSegment = Duration.seconds(4)..<Duration.seconds(8)

  @Test func `A request that began before the stream is shown until it ends`() async throws {
    try await withTwoInOneFile { rig, media, file, _ in
      let prefetch = Task { [cache = rig.cache] in _ = try await cache.prefetch(file) }
      _ = try await rig.origin.wait(for: "/all.mp3") { $0.stalled == 1 }
      _ = try await play(media, rig)
      try await eventually("it is shown") { rig.progress?.fetchingRanges == [bothSegments] }
      rig.origin.release("/all.mp3")
      try await prefetch.value
      try await eventually("all is stored, and no request is left") {
        rig.progress?.isComplete == true && rig.progress?.fetchingRanges == []
      }
    }
  }

  @Test func `A segment is shown as being fetched though a longer request ends before its own`()
    async throws
  {
    try await withTwoInOneFile { rig, media, file, middle in
      _ = try await play(media, rig)
      try await eventually("its duration is known") { rig.progress != nil }
      let prefetch = Task { [cache = rig.cache] in _ = try await cache.prefetch(file) }
      _ = try await rig.origin.wait(for: "/all.mp3") { $0.stalled == 1 }
      try await eventually("the request is shown") {
        rig.progress?.fetchingRanges == [bothSegments]
      }
      // The reader does not wait for that request, which is shortened.
      let reader = try await rig.cache.open(file)
      let read = Task { try await reader.bytes(in: middle..<middle + 1000) }
      _ = try await rig.origin.wait(for: "/all.mp3") { $0.requests.count == 2 }
      prefetch.cancel()
      _ = await prefetch.result
      try await eventually("the second segment alone is shown") {
        rig.progress?.fetchingRanges == [secondSegment]
      }
      #expect(rig.progress?.cachedRanges == [])

      try await eventually("its bytes arrive") {
        rig.origin.release("/all.mp3")
        return try await rig.cache.progress(of: file).spans.contains(middle + 999)
      }
      #expect(try await read.value.count == 1000)
      reader.cancel()
      try await eventually("no request is left") { rig.progress?.fetchingRanges == [] }
    }
  }

  @Test func `A stored stream has its stored times offline, at once`() async throws {
    try await with { rig in
      let media = Media(SilentStream(segments: 3).serve(on: rig.origin))
      try await rig.cache.prefetch(media.url)
      try await rig.fetch(0, 1, 2)
      await rig.origin.stopListening()
      rig.cache.isOffline = true
      _ = try await play(media, rig)
      try await eventually("all are stored") { rig.progress?.isComplete == true }
    }
  }

  @Test func `The stored times of a DASH stream are reported, also of segments in one file`()
    async throws
  {
    try await with { rig in
      // Four segments of three seconds and 100 bytes, after an initialization and their index.
      let list = (0..<4).flatMap { _ in [0, 0, 0, 100, 0, 0, 0, 3, 0x90, 0, 0, 0] as [UInt8] }
      let head: [UInt8] = [0, 0, 0, 80] + Array("sidx".utf8) + [0, 0, 0, 0]
      let index = head + [0, 0, 0, 1, 0, 0, 0, 1] + Array(repeating: 0, count: 10) + [0, 4] + list
      let content =
        Array(repeating: 7, count: 20) + index + Array(repeating: 1 as UInt8, count: 400)
      #expect(index.count == 80)
      let text = """
        <MPD type="static" mediaPresentationDuration="PT12S"><Period>
        <AdaptationSet mimeType="audio/mp4"><Representation id="a" bandwidth="9">
        <BaseURL>a.mp4</BaseURL><SegmentBase indexRange="20-99"/></Representation>
        </AdaptationSet></Period></MPD>
        """
      rig.origin.serveManifest(text, at: "/film.mpd")
      rig.origin.serve(
        OriginResource(.bytes(content), contentType: "audio/mp4", etag: "\"a\""), at: "/a.mp4")
      let file = Resource(url: rig.origin.url("/a.mp4"))
      _ = try await play(Media(rig.origin.url("/film.mpd")), rig)
      try await eventually("its duration is known") { rig.progress?.duration == .seconds(12) }
      try await rig.cache.prefetch(file, range: 0..<200)
      try await eventually("one is stored") {
        rig.progress?.cachedRanges == [Duration.zero..<Duration.seconds(3)]
      }
      try await rig.cache.prefetch(file, range: 300..<400)
      try await eventually("two are stored") {
        rig.progress?.cachedRanges == [
          Duration.zero..<Duration.seconds(3), Duration.seconds(6)..<Duration.seconds(9),
        ]
      }
      try await rig.cache.prefetch(file.url)
      try await eventually("all are stored") { rig.progress?.isComplete == true }
    }
  }

  @Test func `A stream whose next segments do not exist fails with their status`() async throws {
    try await with { rig in
      let media = Media(SilentStream().serve(on: rig.origin, segments: 0..<2))
      let id = try await play(media, upTo: .seconds(4), rig)
      for segment in [2, 3] { try? await rig.fetch(segment) }
      try await eventually("the failures are known") {
        rig.streams.follower?.permanentFailure(after: .seconds(4)) != nil
      }
      rig.engine.report?(.failed(id, lost))
      let error = try #require(rig.referee.failure(of: id))
      #expect(error.status == 404 && error.reason.contains("segments"))
      // Loaded again, it is known at once.
      let again = rig.referee.load(media, at: .seconds(4))
      try await eventually("it is loaded") { rig.engine.current?.item.id == again }
      rig.engine.take(.begin)
      rig.engine.report?(.failed(again, lost))
      #expect(rig.referee.failure(of: again)?.status == 404)
    }
  }

  @Test func `A stream that the network interrupts keeps its error`() async throws {
    try await with { rig in
      let media = Media(SilentStream().serve(on: rig.origin, segments: 0..<2))
      let id = try await play(media, upTo: .seconds(4), rig)
      try? await rig.fetch(2)
      try await eventually("the first failure is known") {
        rig.streams.follower?.permanentFailure(after: .seconds(4)) != nil
      }
      await rig.origin.stopListening()
      try? await rig.fetch(3)
      try await eventually("the second failure is known") {
        rig.streams.follower?.permanentFailure(after: .seconds(4)) == nil
      }
      rig.engine.report?(.failed(id, lost))
      #expect(rig.referee.failure(of: id) == lost)
    }
  }

  @Test func `A live stream that stops without an end in its playlist broke off`() async throws {
    try await with { rig in
      let media = Media(SilentStream(isLive: true).serve(on: rig.origin))
      let id = try await play(media, isLive: true, rig)
      rig.engine.report?(.ended(id, followedBy: nil))
      #expect(rig.referee.failure(of: id)?.code == .unreachable)
      #expect(rig.engine.current == nil && rig.progress == nil)
    }
  }

  @Test func `A live stream whose playlist has not moved between two breaks has ended`()
    async throws
  {
    try await with { rig in
      let media = Media(SilentStream(isLive: true).serve(on: rig.origin))
      @MainActor func breakOff() async throws -> EngineItem.ID {
        let id = try await play(media, upTo: .seconds(90), isLive: true, rig)
        try await eventually("its playlist is known") { rig.streams.follower?.liveChanges != nil }
        rig.engine.report?(.ended(id, followedBy: nil))
        return id
      }
      let first = try await breakOff()
      #expect(rig.referee.failure(of: first)?.code == .unreachable)
      // The broadcast goes on.
      _ = SilentStream(segments: 11, isLive: true).serve(on: rig.origin)
      try await rig.cache.remove(CacheKey(url: media.url))
      try await rig.cache.prefetch(media.url)
      try await eventually("it has moved on") { rig.streams.follower?.liveChanges == 2 }
      let second = try await breakOff()
      #expect(rig.referee.failure(of: second)?.code == .unreachable)
      let third = try await breakOff()
      #expect(rig.referee.events.last == .ended(third, followedBy: nil))
    }
  }

  @Test func `A failing live stream is joined again until the origin confirms its old playlist`()
    async throws
  {
    let clock = LiveClock.standing()
    try await with(clock: clock) { rig in
      let media = Media(SilentStream(isLive: true).serve(on: rig.origin))
      @MainActor func join() async throws -> EngineItem.ID {
        let id = try await play(media, isLive: true, rig)
        try await eventually("its playlist is known") { rig.streams.follower?.liveChanges != nil }
        return id
      }
      @MainActor func fail(_ id: EngineItem.ID) -> MediaCacheError? {
        rig.engine.report?(.failed(id, lost))
        rig.engine.stop()
        return rig.referee.failure(of: id)
      }
      let first = try await join()
      #expect(fail(first) == lost)
      let second = try await join()
      await rig.origin.stopListening()
      clock.advance(to: .seconds(3600))
      _ = try? await rig.cache.prefetch(media.url)
      #expect(fail(second) == lost)
      try await rig.origin.resumeListening()
      // The origin has the same playlist as an hour ago. That is known after one more failure, if
      // not before.
      var last = fail(try await join())
      if last == lost {
        let answers = [rig.cache.now.uptime]
        try await eventually("its answer is known") { rig.streams.follower?.liveAnswers == answers }
        last = fail(try await join())
      }
      #expect(last?.code == .invalidResponse && last?.reason.contains(lost.reason) == true)
      // Loaded again by hand, it is another matter.
      rig.referee.stop()
      let again = try await join()
      #expect(fail(again) == lost)
    }
  }

  @Test func `A segment that is stored for its own signature alone counts as stored`()
    async throws
  {
    try await with { rig in
      let signed = "Expires=2&Signature=new&Key-Pair-Id=K"
      let text =
        "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n0.mp3?\(signed)\n#EXTINF:2,\n1.mp3\n"
        + "#EXT-X-ENDLIST\n"
      rig.origin.serveManifest(text, at: "/signed.m3u8")
      rig.origin.serve(
        OriginResource(
          .bytes(Array(SilentStream.segment(0))), contentType: "audio/mpeg", etag: "W/\"0\""),
        at: "/0.mp3")
      let old = rig.origin.url("/0.mp3?Expires=1&Signature=old&Key-Pair-Id=K")
      try await rig.cache.prefetch(Resource(url: old), range: 0..<10)
      try await rig.cache.prefetch(rig.origin.url("/0.mp3?\(signed)"))
      _ = try await play(Media(rig.origin.url("/signed.m3u8")), rig)
      try await eventually("the first segment is stored") { rig.progress?.fraction == 0.5 }
    }
  }

  @Test func `A live stream whose playlist states its end has ended`() async throws {
    try await with { rig in
      let media = Media(SilentStream(isLive: true).serve(on: rig.origin))
      let id = try await play(media, isLive: true, rig)
      _ = SilentStream().serve(on: rig.origin)
      try await rig.cache.remove(CacheKey(url: media.url))
      try await rig.cache.prefetch(media.url)
      try await eventually("the end is known") { rig.streams.follower?.hasEnded == true }
      rig.engine.report?(.ended(id, followedBy: nil))
      #expect(rig.referee.events.last == .ended(id, followedBy: nil))
    }
  }

  @Test func `Other media is not followed`() async throws {
    try await with { rig in
      _ = try await play(Media(SilentStream().serve(on: rig.origin)), rig)
      try await eventually("its duration is known") { rig.progress != nil }
      rig.referee.load(Media(rig.origin.url("/ok-20")))
      #expect(rig.streams.follower == nil)
    }
  }
}
