// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// Multivariant playlists that lead back to themselves: ffmpeg would request them for ever.
@Suite(.timeLimit(.minutes(1))) struct VariantChainTests {
  private static func multivariant(_ variants: String...) -> String {
    "#EXTM3U\n" + variants.map { "#EXT-X-STREAM-INF:BANDWIDTH=1\n\($0)\n" }.joined()
  }

  private static let media = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n0.ts\n#EXT-X-ENDLIST\n"

  @Test(arguments: ["list.m3u8", "/list.m3u8", "other.m3u8\n#EXT-X-STREAM-INF:X=1\n./list.m3u8"])
  func `A playlist that names itself is an error, stored or relayed`(
    _ reference: String
  ) async throws {
    try await withProxy { test in
      test.serve(Self.multivariant(reference), at: "/list.m3u8")
      for fields in [[], [], ["Cache-Control: no-store"]] {
        let reply = try await test.get("/list.m3u8", fields)
        #expect(reply.status == 508 && reply.text.contains("leads back to itself"))
      }
      try await expect(508, at: "/list.m3u8", method: "HEAD", test)
    }
  }

  @Test func `A rendition that is the playlist itself is an error, an I-frame playlist is not`()
    async throws
  {
    try await withProxy { test in
      let rendition = "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"a\",URI=\"a.m3u8\"\n"
      test.serve(Self.multivariant("v.m3u8") + rendition, at: "/a.m3u8")
      let frames = "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI=\"b.m3u8\"\n"
      test.serve(Self.multivariant("v.m3u8") + frames, at: "/b.m3u8")
      try await expect(508, at: "/a.m3u8", test)
      try await expect(200, at: "/b.m3u8", test)
    }
  }

  @Test(arguments: ["live.m3u8", "/live.m3u8?", "./live.m3u8"])
  func `A playlist that is its own segment is an error, one of songs is not`(
    _ reference: String
  ) async throws {
    try await withProxy { test in
      let isOther = reference.hasSuffix("?")
      let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n\(reference)\n"
      test.serve(list, at: "/live.m3u8")
      for _ in 0..<2 { try await expect(isOther ? 200 : 508, at: "/live.m3u8", test) }
      test.serve("#EXTM3U\n#EXTINF:200,Song\nsongs.m3u8\n", at: "/songs.m3u8")
      try await expect(200, at: "/songs.m3u8", test)
    }
  }

  @Test(arguments: [false, true])
  func `Playlists that name each other end where they come back`(
    _ isRedirected: Bool
  ) async throws {
    try await withProxy { test in
      test.serve(Self.multivariant("b.m3u8"), at: "/a.m3u8")
      test.serve(Self.multivariant("v.m3u8", isRedirected ? "r.m3u8" : "a.m3u8"), at: "/b.m3u8")
      test.serve("", at: "/r.m3u8")
      let first = test.origin.url("/a.m3u8").absoluteString
      test.origin.script("/r.m3u8", .on(.all, .redirect(302, to: first)))
      try await expect(200, at: "/a.m3u8", test)
      if isRedirected {
        try await expect(200, at: "/b.m3u8", test)
        try await expect(508, at: "/r.m3u8", test)
      } else {
        try await expect(508, at: "/b.m3u8", test)
      }
    }
  }

  @Test func `A playlist that no longer leads back to itself is served`() async throws {
    try await withProxy { test in
      let stale = [Field("Cache-Control", "max-age=0")]
      test.serve(Self.multivariant("a.m3u8"), at: "/a.m3u8", etag: "\"v0\"", headers: stale)
      try await expect(508, at: "/a.m3u8", test)
      test.serve(Self.media, at: "/a.m3u8", headers: stale)
      try await expect(200, at: "/a.m3u8", test)
    }
  }

  @Test func `A stream whose playlists share variants, or come twice, is served`() async throws {
    try await withProxy { test in
      test.serve(Self.multivariant("b.m3u8", "v.m3u8", "v.m3u8"), at: "/a.m3u8")
      test.serve(Self.multivariant("v.m3u8"), at: "/b.m3u8")
      test.serve(Self.media, at: "/v.m3u8")
      for _ in 0..<2 {
        for path in ["/a.m3u8", "/b.m3u8", "/v.m3u8"] {
          try await expect(200, at: path, test)
        }
      }
    }
  }

  // MARK: The record

  private func url(_ number: Int) throws -> URL {
    try #require(URL(string: "http://a.example/\(number).m3u8"))
  }

  private func insert(
    _ number: Int, naming others: Int..., to chains: VariantChains, at time: Uptime
  ) throws -> Bool {
    let named = try others.map { VariantChains.hash(try url($0)) }
    return chains.insert(try url(number), naming: Set(named), at: time)
  }

  @Test func `A chain without an end is refused`() throws {
    let chains = VariantChains()
    let now = Uptime.now
    for number in 0..<6 {
      #expect(try insert(number, naming: number + 1, to: chains, at: now), "\(number)")
    }
    #expect(try !insert(6, naming: 7, to: chains, at: now))
    // Its last playlist is one of media.
    #expect(try insert(6, to: chains, at: now))
  }

  @Test func `What a playlist named before, or a minute ago, does not count`() throws {
    let chains = VariantChains()
    let now = Uptime.now
    #expect(try insert(1, naming: 2, to: chains, at: now))
    #expect(try !insert(2, naming: 1, to: chains, at: now + 30))
    #expect(try insert(1, naming: 3, to: chains, at: now + 30))
    #expect(try insert(2, naming: 1, to: chains, at: now + 30))
    #expect(try !insert(1, naming: 2, to: chains, at: now + 60))
    #expect(try insert(1, naming: 2, to: chains, at: now + 91))
  }

  @Test func `The record is bounded`() throws {
    let chains = VariantChains()
    let now = Uptime.now
    #expect(try insert(1, naming: 2, to: chains, at: now))
    for number in 0..<300 {
      #expect(try insert(1000 + 2 * number, naming: 1001 + 2 * number, to: chains, at: now))
    }
    // Forgotten.
    #expect(try insert(2, naming: 1, to: chains, at: now))
  }

  private func expect(
    _ status: Int, at path: String, method: String = "GET", _ test: TestProxy,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let reply = try await test.get(path, method: method)
    #expect(reply.status == status, "\(path)", sourceLocation: sourceLocation)
  }
}
