// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
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
      try await Program.withOrigin { program, origin in
        let url = origin.serve(
          text: Self.main, at: "/main.mpd", "application/dash+xml", headers: [.fresh])
        for part in Self.parts { origin.serve(.synthetic(seed: 1, length: 3000), at: part) }
        try await body(program, origin, url)
      }
    }

    private static func requests(_ origin: OriginServer) -> [Int] {
      parts.map { origin.log($0).requests.count }
    }

    @Test func `A DASH stream is listed, and its chosen parts are fetched once`() async throws {
      try await withStream { program, origin, url in
        let list = try await program.run("get", "--list", url)
        #expect(list.status == 0 && list.errors.isEmpty)
        #expect(list.lines.contains { $0.hasPrefix("1280x720") && $0.contains("4.0 Mbit/s") })
        #expect(list.lines.contains { $0.hasPrefix("audio  de        yes") })
        #expect(Self.requests(origin).allSatisfy { $0 == 0 })
        let first = try await program.run("get", "--quality", "360p", url)
        #expect(first.status == 0 && first.output == "\(url), 11.7 KiB\n", "\(first.errors)")
        #expect(
          first.errorLines.first == "main.mpd: 640x360, 1 kbit/s, de, 0:08, about 2.0 KiB")
        let again = try await program.run("get", "--quality", "360p", url)
        #expect(again.status == 0 && again.output == first.output)
        #expect(Self.requests(origin) == [1, 1, 0, 0, 1, 1])
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
        let report = try await program.run("get", "--unpin", "--json", url).object
        #expect(report["event"] as? String == "unpinned" && report["parts"] as? Int == 4)
        #expect(report["wasPinned"] as? Bool == true)
        let again = try await program.run("get", "--unpin", url)
        #expect(again.output == "\(url) was not pinned.\n")
      }
    }

    @Test
    func `A stream that does not fit is refused, and nothing stays pinned`() async throws {
      try await withStream { program, origin, url in
        let names = (0..<8).map { "single\($0).ts" }
        let segments = names.map { "#EXTINF:4,\n\($0)\n" }.joined()
        let single = origin.serve(
          text: "#EXTM3U\n\(segments)#EXT-X-TARGETDURATION:4\n#EXT-X-ENDLIST\n",
          at: "/single.m3u8")
        for name in names { origin.serve(.synthetic(seed: 1, length: 300_000), at: "/\(name)") }
        // By 4 Mbit/s for 8 seconds; by the length of a first segment.
        for (url, limit) in [(url, "3M"), (single, "1M")] {
          let run = try await program.run("get", "--pin", "--limit", limit, "--json", url)
          #expect(run.status == 1)
          #expect(run.errors.contains("\(url) cannot be pinned: it takes about"), "\(run.errors)")
          let rows = try await program.run("ls", "--json").objects
          #expect(rows.allSatisfy { $0["isPinned"] as? Bool == false })
          #expect(try await program.run("info", url).status == 1)
        }
        #expect(Self.requests(origin).allSatisfy { $0 == 0 })
        let requests = names.map { origin.log("/\($0)").requests.count }
        #expect(requests == [1, 0, 0, 0, 0, 0, 0, 0])
      }
    }
  }
#endif
