// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Whole streams brought into the cache: each chosen part is requested once, and nothing else.
@Suite(.timeLimit(.minutes(1))) struct StreamDownloadTests {
  private static let main = """
    #EXTM3U
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="de",LANGUAGE="de",DEFAULT=YES,URI="de/list.m3u8"
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",LANGUAGE="en",URI="en/list.m3u8"
    #EXT-X-STREAM-INF:BANDWIDTH=1000000,RESOLUTION=640x360,AUDIO="a"
    low/list.m3u8
    #EXT-X-STREAM-INF:BANDWIDTH=3000000,RESOLUTION=1280x720,AUDIO="a"
    high/list.m3u8
    #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1000,RESOLUTION=1280x720,URI="frames.m3u8"

    """

  private static let folders = ["low", "high", "de", "en"]
  private static let names = ["init.mp4", "key.bin", "0.m4s", "1.m4s", "2.m4s", "3.m4s", "4.m4s"]
  private static let length: Int64 = 3000

  /// Serves a stream at `/main.m3u8`.
  private static func serve(_ origin: OriginServer) {
    serve(main, at: "/main.m3u8", origin)
    for folder in folders {
      let segments = (0..<5).map { "#EXTINF:4,\n\($0).m4s\n" }.joined()
      serve(
        """
        #EXTM3U
        #EXT-X-TARGETDURATION:4
        #EXT-X-KEY:METHOD=AES-128,URI="key.bin"
        #EXT-X-MAP:URI="init.mp4"
        \(segments)#EXT-X-ENDLIST

        """, at: "/\(folder)/list.m3u8", origin)
      for (index, name) in names.enumerated() {
        origin.serve(
          .synthetic(seed: UInt64(index), length: length), at: "/\(folder)/\(name)")
      }
    }
  }

  private static func serve(_ text: String, at path: String, _ origin: OriginServer) {
    origin.serve(
      OriginResource(
        .bytes(Array(text.utf8)), contentType: "application/vnd.apple.mpegurl",
        etag: "\"\(path)\"", headers: [Field("Cache-Control", "max-age=3600")]),
      at: path)
  }

  private static func download(
    _ path: String, _ test: TestCache, _ change: (inout StreamChoice) -> Void = { _ in }
  ) async throws -> Int64 {
    let resource = Resource(url: test.origin.url(path))
    try await test.cache.prefetch(resource)
    let download = StreamDownload(resource, into: test.cache)
    let source = try #require(try await download.source())
    var choice = StreamChoice()
    change(&choice)
    let selection = try await download.select(choice, of: source)
    return try await download.run(selection)
  }

  private static func requests(_ test: TestCache) -> [String: Int] {
    let paths =
      ["/main.m3u8", "/frames.m3u8"]
      + folders.flatMap { folder in (["list.m3u8"] + names).map { "/\(folder)/\($0)" } }
    return Dictionary(uniqueKeysWithValues: paths.map { ($0, test.origin.log($0).requests.count) })
      .filter { $0.value > 0 }
  }

  private static func expected(_ folders: String...) -> [String: Int] {
    let parts = folders.flatMap { folder in (["list.m3u8"] + names).map { "/\(folder)/\($0)" } }
    return Dictionary(uniqueKeysWithValues: (["/main.m3u8"] + parts).map { ($0, 1) })
  }

  @Test func `Another choice fetches what is missing`() async throws {
    try await withCache { test in
      Self.serve(test.origin)
      _ = try await Self.download("/main.m3u8", test)
      _ = try await Self.download("/main.m3u8", test) { choice in
        choice.quality = .worst
        choice.audio = .all
      }
      #expect(Self.requests(test) == Self.expected("low", "high", "de", "en"))
    }
  }

  @Test func `A cancelled download continues without requesting stored parts again`()
    async throws
  {
    try await withCache { test in
      Self.serve(test.origin)
      test.origin.script("/high/4.m4s", .on(.first(1), .stall(at: .body(1000))))
      let running = Task { try await Self.download("/main.m3u8", test) }
      // The parts of the sound are fetched while the last one of the pictures stalls.
      for name in Self.names {
        try await test.origin.wait(for: "/de/\(name)") { $0.requests.count == 1 && $0.running == 0 }
      }
      running.cancel()
      await #expect(throws: (any Error).self) { try await running.value }
      // The stalled fetch ends by itself.
      _ = try await test.settledLog("/high/4.m4s")
      _ = try await Self.download("/main.m3u8", test)
      var expected = Self.expected("high", "de")
      expected["/high/4.m4s"] = 2
      #expect(Self.requests(test) == expected)
    }
  }

  @Test func `Ranges of one resource are fetched as ranges of its entry`() async throws {
    try await withCache { test in
      let list = """
        #EXTM3U
        #EXT-X-TARGETDURATION:4
        #EXT-X-MAP:URI="all.mp4",BYTERANGE="1000@0"
        #EXT-X-BYTERANGE:2000@1000
        #EXTINF:4,
        all.mp4
        #EXT-X-BYTERANGE:5000@400000
        #EXTINF:4,
        all.mp4
        #EXT-X-ENDLIST

        """
      Self.serve(list, at: "/list.m3u8", test.origin)
      test.origin.serve(.synthetic(seed: 1, length: 500_000), at: "/all.mp4")
      #expect(try await Self.download("/list.m3u8", test) == 8000)
      let log = try await test.settledLog("/all.mp4")
      #expect(log.bytesSentTwice == 0)
      let entry = try #require(
        try await test.cache.entry(for: Resource(url: test.origin.url("/all.mp4"))))
      #expect(entry.spans.contains(2999) && entry.spans.contains(404_999))
      #expect(entry.spans.byteCount < 500_000)
    }
  }

  @Test(arguments: ["token=1", "session=1"])
  func `A playlist that is redirected to another query is stored once`(
    _ query: String
  ) async throws {
    try await withCache { test in
      Self.serve(test.origin)
      let path = "/high/list.m3u8"
      test.origin.script(
        path,
        .on(.where { !$0.target.contains("?") }, .redirect(302, to: "\(path)?\(query)")))
      _ = try await Self.download("/main.m3u8", test)
      #expect(await test.cache.storedManifest(at: test.origin.url(path)) != nil)
      let targets = try await test.settledLog(path).requests.map(\.request.target)
      #expect(targets == [path, "\(path)?\(query)"])
    }
  }

  @Test func `A part that fails does not stop the others`() async throws {
    try await withCache { test in
      Self.serve(test.origin)
      test.origin.script("/high/1.m4s", .on(.all, .status(404)))
      let error = await #expect(throws: MediaCacheError.self) {
        try await Self.download("/main.m3u8", test)
      }
      #expect(error?.code == .status && error?.status == 404)
      #expect(error?.reason.contains("1 of the stream's 14 parts") == true)
      #expect(error?.reason.contains("/high/1.m4s") == true)
      for name in Self.names {
        #expect(test.origin.log("/de/\(name)").requests.count == 1, "\(name)")
      }
    }
  }

  @Test func `A download ends after many failures`() async throws {
    try await withCache { test in
      let segments = (0..<100).map { "#EXTINF:4,\n\($0).ts\n" }.joined()
      Self.serve("#EXTM3U\n\(segments)#EXT-X-ENDLIST\n", at: "/list.m3u8", test.origin)
      await #expect(throws: MediaCacheError.self) { try await Self.download("/list.m3u8", test) }
      let requested = (0..<100).count { !test.origin.log("/\($0).ts").requests.isEmpty }
      #expect((8..<16).contains(requested), "\(requested)")
    }
  }

  @Test(arguments: [
    ("#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n0.ts\n", "live"),
    ("#EXT-X-TARGETDURATION:4\n#EXT-X-PLAYLIST-TYPE:EVENT\n#EXTINF:4,\n0.ts\n", "live"),
    ("#EXT-X-STREAM-INF:BANDWIDTH=1\nlist.m3u8\n", "no media playlist"),
  ])
  func `A stream without an end, or that names itself, is refused`(
    _ list: String, _ reason: String
  ) async throws {
    try await withCache { test in
      Self.serve("#EXTM3U\n" + list, at: "/list.m3u8", test.origin)
      let error = await #expect(throws: MediaCacheError.self) {
        try await Self.download("/list.m3u8", test)
      }
      #expect(error?.reason.contains(reason) == true)
      #expect(test.origin.log("/0.ts").requests.isEmpty)
    }
  }

  @Test(arguments: [false, true])
  func `A playlist whose variables make it too long is an error, and no shorter stream`(
    isFirst: Bool
  ) async throws {
    try await withCache { test in
      let value = String(repeating: "v", count: 60_000)
      let list =
        "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"\(value)\"\n"
        + "#EXTINF:4,\n0.ts\n" + String(repeating: "#EXTINF:4,\n{$a}.ts\n", count: 600)
        + "#EXT-X-ENDLIST\n"
      Self.serve(list, at: isFirst ? "/main.m3u8" : "/list.m3u8", test.origin)
      if !isFirst {
        let main = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlist.m3u8\n"
        Self.serve(main, at: "/main.m3u8", test.origin)
      }
      let error = await #expect(throws: MediaCacheError.self) {
        try await Self.download("/main.m3u8", test)
      }
      #expect(error?.reason.contains("EXT-X-DEFINE") == true, "\(String(describing: error))")
      #expect(test.origin.log("/0.ts").requests.isEmpty)
    }
  }

  @Test func `A public stream brings nothing of a private network into the cache`() async throws {
    let text = """
      #EXTM3U
      #EXT-X-TARGETDURATION:4
      #EXTINF:4,
      0.ts
      #EXTINF:4,
      http://192.168.1.1/1.ts
      #EXTINF:4,
      http://[::1]/2.ts
      #EXT-X-ENDLIST

      """
    for host in ["cdn.example.com", "10.0.0.1"] {
      let transport = ScriptedTransport { request in
        let isList = request.url.path() == "/list.m3u8"
        let body = isList ? Data(text.utf8) : Data(repeating: 0x47, count: 188)
        return OriginResponse(
          status: 200,
          headers: [
            "Content-Type": isList ? "application/vnd.apple.mpegurl" : "video/mp2t",
            "Content-Length": String(body.count), "Cache-Control": "max-age=600",
          ],
          body: AsyncThrowingStream<Data, any Error> {
            $0.yield(body)
            $0.finish()
          })
      }
      try await withTransport(transport) { cache in
        let resource = Resource(url: try #require(URL(string: "http://\(host)/list.m3u8")))
        try await cache.prefetch(resource)
        let download = StreamDownload(resource, into: cache)
        let source = try #require(try await download.source())
        let selection = try await download.select(StreamChoice(), of: source)
        guard host == "cdn.example.com" else {
          // A stream of a private network may use it.
          _ = try await download.run(selection)
          return #expect(transport.requests.count == 4)
        }
        let error = await #expect(throws: MediaCacheError.self) {
          try await download.run(selection)
        }
        #expect(error?.reason.contains("192.168.1.1") == true, "\(String(describing: error))")
        #expect(error?.remedy.contains("private network") == true)
        #expect(Set(transport.requests.map { $0.url.path() }) == ["/list.m3u8", "/0.ts"])
      }
    }
  }

  @Test func `Headers go to the origin of the first playlist alone`() async throws {
    try await withCache { test in
      let headers: HeaderFields = ["Authorization": "Bearer a", "X-Key": "b", "User-Agent": "c"]
      let first = Resource(
        url: try #require(URL(string: "https://a.example/main.m3u8")), headers: headers)
      let download = StreamDownload(first, into: test.cache)
      let own = try #require(URL(string: "https://A.example:443/s.ts"))
      #expect(download.resource(at: own).headers == headers)
      let others = [
        "http://a.example/s.ts", "https://b.example/s.ts", "https://a.example:444/s.ts",
      ]
      for other in others {
        let url = try #require(URL(string: other))
        #expect(download.resource(at: url).headers == ["User-Agent": "c"], "\(other)")
      }
    }
  }
}
