// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain get` with a stream behind a redirect that leads elsewhere each time, as to a session.
  @Suite(.timeLimit(.minutes(2)))
  struct GetMovedStreamTests {
    private static let list =
      "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n0.ts\n#EXTINF:4,\n1.ts\n#EXT-X-ENDLIST\n"

    private static func serve(on origin: OriginServer) {
      for session in ["one", "two"] {
        origin.serve(
          OriginResource(
            .bytes(Array(list.utf8)), contentType: "application/vnd.apple.mpegurl", etag: "\"1\""),
          at: "/\(session)/list.m3u8")
        for index in 0..<2 {
          origin.serve(
            .synthetic(seed: UInt64(index), length: 3000), at: "/\(session)/\(index).ts")
        }
      }
      origin.serve(OriginResource(.bytes([])), at: "/list.m3u8")
      lead("one", origin)
    }

    private static func lead(_ session: String, _ origin: OriginServer) {
      origin.script("/list.m3u8", .on(.all, .redirect(302, to: "/\(session)/list.m3u8")))
    }

    @Test(arguments: [[], ["--pin"]])
    func `The stream is fetched from its new place once the origin refuses the earlier one`(
      _ options: [String]
    ) async throws {
      try await Program.withOrigin { program, origin in
        Self.serve(on: origin)
        let url = origin.url("/list.m3u8").absoluteString
        let first = try await program.run(["get"] + options + [url])
        #expect(first.status == 0, "\(first.errors)")
        Self.lead("two", origin)
        let stored = try await program.run(["get"] + options + [url])
        #expect(stored.status == 0, "\(stored.errors)")
        #expect(origin.log("/two/0.ts").requests.isEmpty)
        origin.script("/one/list.m3u8", .on(.all, .status(403)))
        let moved = try await program.run(["get"] + options + [url])
        #expect(moved.status == 0, "\(moved.errors)")
        #expect((0..<2).map { origin.log("/two/\($0).ts").requests.count } == [1, 1])
        let offline = try await program.run("get", "--offline", url)
        #expect(offline.status == 0, "\(offline.errors)")
      }
    }
  }
#endif
