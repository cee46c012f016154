// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain get` with HTTP Live Streams.
  @Suite(.timeLimit(.minutes(2)))
  struct GetStreamTests {
    private static let main = """
      #EXTM3U
      #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",DEFAULT=YES,URI="de.m3u8"
      #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",URI="en.m3u8"
      #EXT-X-STREAM-INF:BANDWIDTH=900000,RESOLUTION=640x360,AUDIO="a",CODECS="avc1,mp4a"
      low.m3u8
      #EXT-X-STREAM-INF:BANDWIDTH=4000000,AVERAGE-BANDWIDTH=3000000,RESOLUTION=1280x720,AUDIO="a"
      high.m3u8

      """

    /// More variants, and subtitles.
    private static let choice = """
      #EXTM3U
      #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",DEFAULT=YES,URI="de.m3u8"
      #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",URI="en.m3u8"
      #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English",LANGUAGE="en",URI="text.m3u8"
      #EXT-X-STREAM-INF:BANDWIDTH=4000000,RESOLUTION=1920x1080,AUDIO="a",SUBTITLES="s"
      high.m3u8
      #EXT-X-STREAM-INF:BANDWIDTH=900000,RESOLUTION=640x360,AUDIO="a",SUBTITLES="s"
      low.m3u8
      #EXT-X-STREAM-INF:BANDWIDTH=2500000,RESOLUTION=1280x720,AUDIO="a",SUBTITLES="s"
      middle.m3u8

      """

    private static let lists = ["low", "middle", "high", "de", "en", "text"]

    /// Runs `body` with a stream of 20 seconds at `/main.m3u8`, whose segments have `length` bytes.
    private func withStream(
      requiring header: Field? = nil, length: Int64 = 3000,
      _ body: (Program, OriginServer, _ url: String) async throws -> Void
    ) async throws {
      try await Program.withOrigin { program, origin in
        func serve(_ text: String, _ path: String) -> String {
          origin.serve(text: text, at: path, headers: [.fresh], requiring: header)
        }
        for list in Self.lists {
          let segments = (0..<5).map { "#EXTINF:4,\n\(list)\($0).ts\n" }.joined()
          _ = serve("#EXTM3U\n\(segments)#EXT-X-ENDLIST\n", "/\(list).m3u8")
          for index in 0..<5 {
            var segment = OriginResource.synthetic(seed: UInt64(index), length: length)
            segment.requiredHeader = header
            origin.serve(segment, at: "/\(list)\(index).ts")
          }
        }
        _ = serve(Self.choice, "/choice.m3u8")
        try await body(program, origin, serve(Self.main, "/main.m3u8"))
      }
    }

    /// Checks that the files of these lists were requested, each once, and no others.
    private func expectRequests(
      of chosen: [String], _ origin: OriginServer,
      sourceLocation: SourceLocation = #_sourceLocation
    ) {
      for list in Self.lists {
        let count = chosen.contains(list) ? 1 : 0
        #expect(
          Self.requests(list, origin) == Array(repeating: count, count: 6), "\(list)",
          sourceLocation: sourceLocation)
      }
    }

    private static func requests(_ list: String, _ origin: OriginServer) -> [Int] {
      ["/\(list).m3u8"].map { origin.log($0).requests.count }
        + (0..<5).map { origin.log("/\(list)\($0).ts").requests.count }
    }

    @Test func `The chosen parts of a stream are fetched once`() async throws {
      try await withStream { program, origin, url in
        let first = try await program.run("get", "--quality", "720p", "--audio", "en", url)
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.output == "\(url), 29.3 KiB\n")
        #expect(
          first.errorLines.first == "main.m3u8: 1280x720, 3.0 Mbit/s, en, 0:20, about 7.2 MiB")
        #expect(first.errorLines.last == "main.m3u8: 100% of 0:20, 29.3 KiB")
        let again = try await program.run("get", "--quality", "720p", "--audio", "en", url)
        #expect(again.status == 0 && again.output == first.output)
        expectRequests(of: ["high", "en"], origin)
        #expect(origin.log("/main.m3u8").requests.count == 1)
      }
    }

    @Test(
      arguments: [
        ("--quality worst --audio de,en --subtitles all", ["low", "de", "en", "text"]),
        // By the peak, of which the best variant has more.
        ("--quality 3M --subtitles en", ["middle", "de", "text"]),
        ("--quality 500k --audio all", ["low", "de", "en"]),
      ] as [(String, [String])])
    func `The files of the choice are requested, each once, and no others`(
      _ options: String, _ chosen: [String]
    ) async throws {
      try await withStream { program, origin, _ in
        let words = options.split(separator: " ").map(String.init)
        let run = try await program.run(
          ["get"] + words + [origin.url("/choice.m3u8").absoluteString])
        #expect(run.status == 0, "\(run.errors)")
        #expect(origin.log("/choice.m3u8").requests.count == 1)
        expectRequests(of: chosen, origin)
      }
    }

    @Test
    func `Headers are sent with requests for segments, of the best quality`() async throws {
      let token = Field("Authorization", "Bearer abc")
      try await withStream(requiring: token) { program, origin, url in
        let run = try await program.run("get", "--header", "Authorization: Bearer abc", url)
        #expect(run.status == 0, "\(run.errors)")
        expectRequests(of: ["high", "de"], origin)
      }
    }

    @Test
    func `The list of a stream shows its qualities and languages, also as JSON`() async throws {
      try await withStream { program, origin, url in
        let run = try await program.run("get", "--list", url)
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(
          run.output == """
            \(url), 0:20

            RESOLUTION    BIT RATE           SIZE  CODECS
            640x360     900 kbit/s  about 2.1 MiB  avc1,mp4a
            1280x720    3.0 Mbit/s  about 7.2 MiB  -

            TYPE   LANGUAGE  DEFAULT  NAME
            audio  de        yes      Deutsch
            audio  en        no       English

            """)
        let report = try await program.run("get", "--list", "--json", url).object
        #expect(report["url"] as? String == url && report["duration"] as? Double == 20)
        let variants = try #require(report["variants"] as? [[String: Any]])
        #expect(variants.map { $0["height"] as? Int } == [360, 720])
        #expect(variants.map { $0["estimatedBytes"] as? Int } == [2_250_000, 7_500_000])
        let renditions = try #require(report["renditions"] as? [[String: Any]])
        #expect(renditions.map { $0["language"] as? String } == ["de", "en"])
        #expect(Self.requests("high", origin) == [1, 0, 0, 0, 0, 0])
      }
    }

    @Test func `The list of a single playlist has a size by the lengths of segments`()
      async throws
    {
      try await withStream { program, origin, _ in
        let url = origin.url("/low.m3u8").absoluteString
        let run = try await program.run("get", "--list", url)
        #expect(run.status == 0 && run.output == "\(url), 0:20, about 14.6 KiB\n", "\(run.errors)")
        #expect(Self.requests("low", origin) == [1, 1, 0, 1, 0, 0])
        let report = try await program.run("get", "--list", "--json", url).object
        #expect(report["estimatedBytes"] as? Int == 15_000)
      }
    }

    @Test func `Offline, the stored quality is found, and a missing one is named`() async throws {
      try await withStream { program, origin, url in
        let first = try await program.run("get", "--quality", "worst", url)
        #expect(first.status == 0, "\(first.errors)")
        let again = try await program.run("get", "--offline", url)
        #expect(again.status == 0 && again.output == first.output, "\(again.errors)")
        let best = try await program.run("get", "--offline", "--quality", "best", url)
        let missing = origin.url("/high.m3u8").absoluteString
        #expect(best.status == 1)
        #expect(best.errors.contains("The playlist \(missing) is not stored"), "\(best.errors)")
      }
    }

    @Test func `JSON reports the choice, the progress and the end`() async throws {
      try await withStream { program, _, url in
        let events = try await program.run("get", "--json", url).events
        #expect(events.first?["event"] as? String == "selected")
        #expect(events.first?["estimatedBytes"] as? Int == 7_500_000)
        let progress = try #require(events.first { $0["event"] as? String == "progress" })
        #expect((progress["storedSeconds"] as? Double).map { (0...20).contains($0) } == true)
        #expect(progress["totalSeconds"] as? Double == 20)
        #expect(events.last?["event"] as? String == "done")
        #expect(events.last?["storedBytes"] as? Int == 30_000)
      }
    }

    @Test func `A live stream, an unclear one and a missing language are errors with a remedy`()
      async throws
    {
      try await withStream { program, origin, url in
        let live = try await program.run(
          "get",
          origin.serve(
            text: "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n0.ts\n", at: "/l.m3u8"))
        #expect(live.status == 1 && live.errors.contains("is a live stream"))
        let dash = try await program.run(
          "get",
          origin.serve(
            text: "<?xml version=\"1.0\"?>\n<MPD type=\"static\"></MPD>", at: "/a.mpd",
            "application/dash+xml"))
        #expect(dash.status == 1 && dash.errors.contains("HLS"))
        let french = try await program.run("get", "--audio", "fr", url)
        #expect(french.status == 1 && french.errors.contains("Choose among de, en."))
        let height = try await program.run("get", "--quality", "nice", url)
        #expect(height.status == 64)
      }
    }

    @Test func `An interrupted download continues where it stopped`() async throws {
      let length: Int64 = 100_000
      try await withStream(length: length) { program, origin, url in
        origin.script("/high4.ts", .on(.first(1), .stall(at: .body(1000))))
        // The data files contain what arrived; nine segments are whole.
        let killed = try await program.run(
          ["get", url], signal: SIGKILL,
          when: {
            program.fileSizes.filter { $0 == Int(length) }.count == 9
              && origin.log("/high4.ts").requests.count == 1
          })
        #expect(killed.status == SIGKILL)
        let run = try await program.run("get", url)
        #expect(run.status == 0, "\(run.errors)")
        #expect(origin.log("/high4.ts").requests.count == 2)
        let all = Self.requests("high", origin) + Self.requests("de", origin)
        #expect(all.allSatisfy { (1...2).contains($0) }, "\(all)")
        // A kill may lose the last 256 KiB that arrived, and no more.
        let again = ["high", "de"].flatMap { list in (0..<5).map { "/\(list)\($0).ts" } }
          .map { origin.log($0).bytesSentTwice }
        #expect(again.reduce(0, +) <= 256 << 10, "\(again)")
      }
    }
  }
#endif
