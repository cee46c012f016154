// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain get`, `info` and `rm` with a stream that neither its type nor its URL shows.
  @Suite(.timeLimit(.minutes(2)))
  struct GetUnnamedStreamTests {
    private static let stream =
      "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n/0.ts\n#EXTINF:4,\n/1.ts\n#EXT-X-ENDLIST\n"
    private static let songs = "#EXTM3U\n#EXTINF:4,One\n/0.ts\n#EXTINF:4,Two\n/1.ts\n"

    private func withText(
      _ text: String, _ body: (Program, OriginServer, _ url: String) async throws -> Void
    ) async throws {
      try await Program.withOrigin { program, origin in
        origin.serve(
          OriginResource(
            .bytes(Array(text.utf8)), contentType: "application/octet-stream", etag: "\"t\"",
            headers: [Field("Cache-Control", "max-age=3600")]), at: "/play")
        for index in 0..<2 {
          origin.serve(.synthetic(seed: UInt64(index), length: 3000), at: "/\(index).ts")
        }
        try await body(program, origin, origin.url("/play").absoluteString)
      }
    }

    private static func requests(_ origin: OriginServer) -> [Int] {
      ["/play", "/0.ts", "/1.ts"].map { origin.log($0).requests.count }
    }

    @Test func `All of the stream is fetched, listed and removed as one thing`() async throws {
      try await withText(Self.stream) { program, origin, url in
        let get = try await program.run("get", url)
        #expect(get.status == 0, "\(get.errors)")
        #expect(get.errorLines.last?.hasPrefix("play: 100% of 0:08") == true)
        #expect(Self.requests(origin) == [1, 1, 1])
        let list = try await program.run("get", "--list", url)
        #expect(list.status == 0 && list.output.contains("0:08"), "\(list.errors)")
        let info = try await program.run("info", url)
        #expect(info.output.contains("2 parts") && info.output.contains("complete"))
        let removed = try await program.run("rm", url)
        #expect(removed.status == 0 && removed.output.contains("2 parts"))
        let rest = try await program.run("ls")
        #expect(rest.output.contains("0 entries"), "\(rest.output)")
      }
    }

    @Test func `A list of songs stays one file`() async throws {
      try await withText(Self.songs) { program, origin, url in
        let list = try await program.run("get", "--list", url)
        #expect(list.status == 1 && list.errors.contains("is not the manifest of"))
        let get = try await program.run("get", url)
        #expect(get.status == 0 && get.output.hasPrefix("\(url), "), "\(get.errors)")
        #expect(Self.requests(origin).dropFirst() == [0, 0])
      }
    }
  }
#endif
