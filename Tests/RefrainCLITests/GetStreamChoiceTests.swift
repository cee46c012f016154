// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Testing

  /// The options of `refrain get` that choose among the parts of a stream.
  @Suite(.timeLimit(.minutes(2)))
  struct GetStreamChoiceTests {
    private static let main = """
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

    /// The paths of a list and of its segments.
    private static func paths(_ list: String) -> [String] {
      ["/\(list).m3u8", "/\(list)0.ts", "/\(list)1.ts"]
    }

    /// Runs `body` with a stream of eight seconds at `/main.m3u8`.
    private func withStream(
      _ body: (Program, OriginServer, _ url: String) async throws -> Void
    ) async throws {
      let origin = try await OriginServer.start()
      let result: Result<Void, any Error>
      do {
        Self.serve(Self.main, at: "/main.m3u8", origin)
        for list in Self.lists {
          let segments = (0..<2).map { "#EXTINF:4,\n\(list)\($0).ts\n" }.joined()
          Self.serve(
            "#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(segments)#EXT-X-ENDLIST\n", at: "/\(list).m3u8",
            origin)
          for path in Self.paths(list).dropFirst() {
            origin.serve(.synthetic(seed: 1, length: 3000), at: path)
          }
        }
        try await Program.with {
          try await body($0, origin, origin.url("/main.m3u8").absoluteString)
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await origin.stop()
      try result.get()
    }

    private static func serve(_ text: String, at path: String, _ origin: OriginServer) {
      origin.serve(
        OriginResource(
          .bytes(Array(text.utf8)), contentType: "application/vnd.apple.mpegurl",
          etag: "\"\(path)\"", headers: [Field("Cache-Control", "max-age=3600")]), at: path)
    }

    @Test(
      arguments: [
        ("--quality worst --audio de,en --subtitles all", ["low", "de", "en", "text"]),
        // By the peak, of which the best variant has more.
        ("--quality 3M", ["middle", "de"]),
        ("--quality 3M --audio en --subtitles en", ["middle", "en", "text"]),
        ("--quality 500k --audio all", ["low", "de", "en"]),
        ("", ["high", "de"]),
      ] as [(String, [String])])
    func `The files of the choice are requested, each once, and no others`(
      _ options: String, _ chosen: [String]
    ) async throws {
      try await withStream { program, origin, url in
        let words = options.split(separator: " ").map(String.init)
        let run = try await program.run(["get"] + words + [url])
        #expect(run.status == 0, "\(run.errors)")
        #expect(origin.log("/main.m3u8").requests.count == 1)
        for list in Self.lists {
          let count = chosen.contains(list) ? 1 : 0
          let requests = Self.paths(list).map { origin.log($0).requests.count }
          #expect(requests == [count, count, count], "\(list)")
        }
      }
    }
  }
#endif
