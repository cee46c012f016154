// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Testing

  /// `refrain get` of DASH streams, and `get --pin` and `get --unpin` of streams.
  @Suite(.timeLimit(.minutes(2)))
  struct GetStreamPinTests {
    private static let main = """
      <MPD type="static" mediaPresentationDuration="PT8S"><Period><SegmentTemplate duration="4"
      media="$RepresentationID$$Number$.m4s"/><AdaptationSet contentType="video">
      <Representation id="low" width="640" height="360" bandwidth="1000" codecs="avc1"/>
      <Representation id="high" width="1280" height="720" bandwidth="4000000"/></AdaptationSet>
      <AdaptationSet contentType="audio" lang="de"><Representation id="de" bandwidth="1000"/>
      </AdaptationSet></Period></MPD>
      """

    private static let parts = ["low", "high", "de"].flatMap { ["/\($0)1.m4s", "/\($0)2.m4s"] }

    /// Runs `body` with a stream of 8 seconds at `/main.mpd`.
    private func withStream(
      _ body: (Program, OriginServer, _ url: String) async throws -> Void
    ) async throws {
      let origin = try await OriginServer.start()
      let result: Result<Void, any Error>
      do {
        origin.serve(
          OriginResource(
            .bytes(Array(Self.main.utf8)), contentType: "application/dash+xml", etag: "\"m\"",
            headers: [Field("Cache-Control", "max-age=3600")]), at: "/main.mpd")
        for part in Self.parts { origin.serve(.synthetic(seed: 1, length: 3000), at: part) }
        try await Program.with {
          try await body($0, origin, origin.url("/main.mpd").absoluteString)
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await origin.stop()
      try result.get()
    }

    private static func requests(_ origin: OriginServer) -> [Int] {
      parts.map { origin.log($0).requests.count }
    }

    private struct Unpinned: Decodable, Equatable {
      var event: String
      var wasPinned: Bool
      var parts: Int
    }

    @Test func `The chosen parts of a DASH stream are fetched once`() async throws {
      try await withStream { program, origin, url in
        let first = try await program.run("get", "--quality", "360p", url)
        #expect(first.status == 0 && first.output == "\(url), 11.7 KiB\n", "\(first.errors)")
        #expect(
          first.errorLines.first == "main.mpd: 640x360, 1 kbit/s, de, 0:08, about 2.0 KiB")
        let again = try await program.run("get", "--quality", "360p", url)
        #expect(again.status == 0 && again.output == first.output)
        #expect(Self.requests(origin) == [1, 1, 0, 0, 1, 1])
      }
    }

    @Test func `The list of a DASH stream shows its qualities and languages`() async throws {
      try await withStream { program, origin, url in
        let run = try await program.run("get", "--list", url)
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(run.lines.contains { $0.hasPrefix("1280x720") && $0.contains("4.0 Mbit/s") })
        #expect(run.lines.contains { $0.hasPrefix("audio  de        yes") })
        #expect(Self.requests(origin).allSatisfy { $0 == 0 })
      }
    }

    @Test func `A stream is pinned with all its parts until the pins are lifted`() async throws {
      try await withStream { program, origin, url in
        // As if an earlier run had been interrupted.
        let some = try await program.run("get", origin.url("/low2.m4s").absoluteString)
        #expect(some.status == 0)
        let run = try await program.run("get", "--pin", "--quality", "360p", url)
        #expect(run.status == 0, "\(run.errors)")
        #expect(Self.requests(origin) == [1, 1, 0, 0, 1, 1])
        let lifted = try await program.run("get", "--unpin", "--json", url)
        let report = try JSONDecoder().decode(Unpinned.self, from: Data(lifted.output.utf8))
        #expect(report == Unpinned(event: "unpinned", wasPinned: true, parts: 4))
        let again = try await program.run("get", "--unpin", url)
        #expect(again.output == "\(url) was not pinned.\n")
      }
    }

    @Test func `A stream that does not fit is refused, and nothing stays pinned`() async throws {
      try await withStream { program, origin, url in
        // 4 Mbit/s for 8 seconds.
        let run = try await program.run("get", "--pin", "--limit", "3M", "--json", url)
        #expect(run.status == 1)
        #expect(run.errors.contains("\(url) cannot be pinned: it takes about"), "\(run.errors)")
        #expect(Self.requests(origin).allSatisfy { $0 == 0 })
        let lifted = try await program.run("get", "--unpin", url)
        #expect(lifted.output == "\(url) was not pinned.\n")
      }
    }

    @Test func `A single playlist that does not fit is refused by its first segment`()
      async throws
    {
      try await withStream { program, origin, _ in
        let names = (0..<8).map { "single\($0).ts" }
        let list = "#EXTM3U\n" + names.map { "#EXTINF:4,\n\($0)\n" }.joined()
        origin.serve(
          OriginResource(
            .bytes(Array("\(list)#EXT-X-TARGETDURATION:4\n#EXT-X-ENDLIST\n".utf8)),
            contentType: "application/vnd.apple.mpegurl", etag: "\"s\""), at: "/single.m3u8")
        for name in names { origin.serve(.synthetic(seed: 1, length: 300_000), at: "/\(name)") }
        let url = origin.url("/single.m3u8").absoluteString
        let run = try await program.run("get", "--pin", "--limit", "1M", url)
        #expect(run.status == 1)
        #expect(run.errors.contains("\(url) cannot be pinned: it takes about"), "\(run.errors)")
        let requests = names.map { origin.log("/\($0)").requests.count }
        #expect(requests == [1, 0, 0, 0, 0, 0, 0, 0])
        let lifted = try await program.run("get", "--unpin", url)
        #expect(lifted.output == "\(url) was not pinned.\n")
      }
    }
  }
#endif
