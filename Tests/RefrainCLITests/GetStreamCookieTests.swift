// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain get` with a stream whose playlists set the cookies that its segments need.
  @Suite(.timeLimit(.minutes(2)))
  struct GetStreamCookieTests {
    private static let main = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nlow.m3u8\n"
    private static let low =
      "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n0.ts\n#EXTINF:4,\n1.ts\n#EXT-X-ENDLIST\n"

    private static func serve(
      _ text: String, at path: String, _ headers: [Field], on origin: OriginServer
    ) {
      origin.serve(
        OriginResource(
          .bytes(Array(text.utf8)), contentType: "application/vnd.apple.mpegurl",
          etag: "\"\(path)\"", headers: headers), at: path)
    }

    @Test(arguments: ["/v/main.m3u8", "/v/low.m3u8"])
    func `The requests for segments have the cookies`(_ source: String) async throws {
      try await Program.withOrigin { program, origin in
        for (text, path) in [(Self.main, "/v/main.m3u8"), (Self.low, "/v/low.m3u8")] {
          let cookie = Field("Set-Cookie", "pass=1; Path=/v")
          Self.serve(text, at: path, path == source ? [cookie] : [], on: origin)
        }
        for index in 0..<2 {
          var segment = OriginResource.synthetic(seed: UInt64(index), length: 3000)
          segment.requiredHeader = Field("Cookie", "pass=1")
          origin.serve(segment, at: "/v/\(index).ts")
        }
        let run = try await program.run("get", origin.url("/v/main.m3u8").absoluteString)
        #expect(run.status == 0, "\(run.errors)")
        #expect((0..<2).map { origin.log("/v/\($0).ts").requests.count } == [1, 1])
      }
    }
  }
#endif
