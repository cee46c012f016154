// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer
@testable import RefrainPlayerStreams
@testable import RefrainStreams

/// Fetching a stream before it plays.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct StreamPrefetchTests {
  private static let master = """
    #EXTM3U
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="German",URI="de.m3u8"
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",DEFAULT=YES,URI="en.m3u8"
    #EXT-X-STREAM-INF:BANDWIDTH=2000,AUDIO="a"
    middle.m3u8
    #EXT-X-STREAM-INF:BANDWIDTH=1000,AUDIO="a"
    low.m3u8
    #EXT-X-STREAM-INF:BANDWIDTH=5000,AUDIO="a"
    high.m3u8

    """
  /// The requests for a public host go to an origin on this machine.
  private struct PublicHost: Transport {
    let origin: URL
    private let transport = MediaCache.platformTransport()

    init(origin: URL) { self.origin = origin }

    func send(_ request: OriginRequest) async throws -> OriginResponse {
      var request = request
      if request.url.host() == "cdn.example.com" {
        request.url = origin.appending(path: request.url.path())
      }
      return try await transport.send(request)
    }
  }

  private static let playlists = ["de", "en", "low", "middle", "high"]
  private static let segmentLength: Int64 = 1000

  /// Runs `body` with an origin of a stream whose playlists have three segments each.
  private func with(
    isLive: Bool = false, isPublic: Bool = false,
    _ body: (OriginServer, MediaCache, Resource) async throws -> Void
  ) async throws {
    try await withOrigin { configuration, origin in
      if isPublic { configuration.transport = PublicHost(origin: origin.baseURL) }
    } _: { origin, cache, _ in
      func serve(_ text: String, _ name: String) {
        origin.serveManifest(
          text, at: "/\(name)", headers: [Field("Cache-Control", "max-age=3600")])
      }
      serve(Self.master, "master.m3u8")
      for name in Self.playlists {
        let lines = (0..<3).map { "#EXTINF:4,\n\(name)\($0).ts\n" }.joined()
        let end = isLive ? "" : "#EXT-X-ENDLIST\n"
        serve("#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(lines)\(end)", "\(name).m3u8")
        for index in 0..<3 {
          origin.serve(
            .synthetic(seed: UInt64(index), length: Self.segmentLength), at: "/\(name)\(index).ts")
        }
      }
      let resource = Resource(url: origin.url("/master.m3u8"))
      try await cache.prefetch(resource)
      try await body(origin, cache, resource)
    }
  }

  /// Returns the requested playlists and segments, without the manifest.
  private func requested(_ origin: OriginServer) -> Set<String> {
    let names =
      Self.playlists.map { "\($0).m3u8" }
      + Self.playlists.flatMap { name in (0..<3).map { "\(name)\($0).ts" } }
    return Set(names.filter { !origin.log("/\($0)").requests.isEmpty })
  }

  @Test func `Of a public stream, nothing is fetched from a private network`() async throws {
    try await with(isPublic: true) { origin, cache, _ in
      let list = """
        #EXTM3U
        #EXT-X-TARGETDURATION:4
        #EXTINF:4,
        low0.ts
        #EXTINF:4,
        \(origin.url("/low1.ts").absoluteString)
        #EXT-X-ENDLIST

        """
      origin.serveManifest(list, at: "/list.m3u8")
      let url = try #require(URL(string: "http://cdn.example.com/list.m3u8"))
      let error = await #expect(throws: MediaCacheError.self) {
        try await StreamOpening(cache: cache, resource: Resource(url: url), variant: .first)
          .run(limit: nil)
      }
      #expect(error?.code == .redirect)
      #expect(requested(origin) == ["low0.ts"])
      // A stream of a private network may use it.
      let own = Resource(url: origin.url("/list.m3u8"))
      try await StreamOpening(cache: cache, resource: own, variant: .first).run(limit: nil)
      #expect(requested(origin) == ["low0.ts", "low1.ts"])
    }
  }

  @Test(arguments: [
    (PreferredVariant.first, "middle"), (.near(4999), "middle"), (.near(5000), "high"),
    (.near(1), "low"),
  ])
  func `The playlists and first segments of the variant that will play are fetched`(
    _ variant: PreferredVariant, _ name: String
  ) async throws {
    try await with { origin, cache, resource in
      try await StreamOpening(cache: cache, resource: resource, variant: variant).run(limit: 2000)
      #expect(
        requested(origin) == ["\(name).m3u8", "en.m3u8", "\(name)0.ts", "en0.ts"])
    }
  }

  @Test func `Of a stream whose sound alone plays, the pictures are not fetched`() async throws {
    try await with { origin, cache, resource in
      let opening = StreamOpening(cache: cache, resource: resource, variant: .soundOfHighest)
      try await opening.run(limit: nil)
      #expect(requested(origin) == ["en.m3u8", "en0.ts", "en1.ts", "en2.ts"])
    }
  }

  @Test func `No more bytes are fetched than the limit, and none twice`() async throws {
    try await with { origin, cache, resource in
      let opening = StreamOpening(cache: cache, resource: resource, variant: .soundOfHighest)
      try await opening.run(limit: 1500)
      try await opening.run(limit: 1500)
      #expect(origin.log("/en0.ts").bodyBytesSent == Self.segmentLength)
      let second = try await cache.progress(of: Resource(url: origin.url("/en1.ts")))
      #expect(second.storedBytes == 500)
      #expect(origin.log("/en2.ts").requests.isEmpty)
      try await opening.run(limit: nil)
      let sent = (0..<3).reduce(0) { $0 + origin.log("/en\($1).ts").bodyBytesSent }
      #expect(sent == 3 * Self.segmentLength)
    }
  }

  @Test func `A playlist that is redirected to another query is fetched once`() async throws {
    try await with { origin, cache, resource in
      let path = "/en.m3u8"
      origin.script(
        path, .on(.where { !$0.target.contains("?") }, .redirect(302, to: "\(path)?session=1")))
      let opening = StreamOpening(cache: cache, resource: resource, variant: .soundOfHighest)
      try await opening.run(limit: 1)
      #expect(
        origin.log(path).requests.map(\.request.target) == [path, "\(path)?session=1"])
      #expect(!origin.log("/en0.ts").requests.isEmpty)
    }
  }

  @Test func `No segment of a live stream is fetched before it plays`() async throws {
    try await with(isLive: true) { origin, cache, resource in
      try await StreamOpening(cache: cache, resource: resource, variant: .first).run(limit: nil)
      #expect(requested(origin) == ["middle.m3u8", "en.m3u8"])
    }
  }

  /// Returns the state while a stream of nine seconds plays, of which the first are stored.
  private func playing(storedTo seconds: Int, before next: URL) throws -> PlayerState {
    var state = PlayerState()
    state.queue.replace(with: [
      Media(try #require(URL(string: "http://h/now.m3u8"))), Media(next),
    ])
    state.status = .playing
    state.streamProgress = StreamProgress(
      duration: .seconds(9), cachedRanges: [.zero..<Duration.seconds(seconds)])
    return state
  }

  @Test func `The segments of the next stream are fetched once the current one is stored`()
    async throws
  {
    try await with { origin, cache, resource in
      #expect(PrefetchWish(of: try playing(storedTo: 8, before: resource.url)) == nil)
      let state = try playing(storedTo: 9, before: resource.url)
      #expect(PrefetchWish(of: state)?.isWhole == true)
      var prefetcher = NextPrefetcher(cache: cache, streams: CachedStreams { $0.url }, opening: 100)
      prefetcher.update(state) { .soundOfHighest }
      let last = Resource(url: origin.url("/en2.ts"))
      try await eventually("it is stored") { try await cache.progress(of: last).isComplete }
      prefetcher.cancel()
      #expect(origin.log("/high0.ts").requests.isEmpty)
    }
  }

  @Test func `The next stream is fetched too if only its content shows that it is one`()
    async throws
  {
    try await with { origin, cache, _ in
      let list = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nhigh0.ts\n#EXT-X-ENDLIST\n"
      origin.serve(
        OriginResource(
          .bytes(Array(list.utf8)), contentType: "application/octet-stream", etag: "\"next\""),
        at: "/next")
      let state = try playing(storedTo: 9, before: origin.url("/next"))
      var prefetcher = NextPrefetcher(cache: cache, streams: CachedStreams { $0.url }, opening: 100)
      prefetcher.update(state) { .soundOfHighest }
      let segment = Resource(url: origin.url("/high0.ts"))
      try await eventually("it is stored") { try await cache.progress(of: segment).isComplete }
      prefetcher.cancel()
      let requests = origin.log("/high0.ts").requests
      #expect(requests.allSatisfy { $0.request.headers.first("Icy-MetaData") == nil })
    }
  }

  @Test func `The cookies of a manifest that was looked up are kept for its stream`() async throws {
    try await with { origin, cache, _ in
      let url = origin.serveManifest(
        Self.master, at: "/cookie.m3u8", headers: [Field("Set-Cookie", "id=1; Path=/")])
      let stream = Resource(url: url)
      let kind = try await CachedStreams { $0.url }.kind(of: stream, in: cache, isRetried: false)
      #expect(kind == .hls)
      #expect(cache.cookies(of: stream).all(at: Date()).map(\.value) == ["1"])
    }
  }

  @Test func `Without a proxy, the manifest alone is fetched`() async throws {
    try await with { origin, cache, _ in
      let next = origin.serveManifest(Self.master, at: "/next.m3u8")
      var prefetcher = NextPrefetcher(cache: cache, streams: nil, opening: 100)
      prefetcher.update(try playing(storedTo: 9, before: next)) { .soundOfHighest }
      await prefetcher.running?.task.value
      #expect(try await cache.entry(for: next)?.isComplete == true)
      #expect(requested(origin) == [])
    }
  }
}
