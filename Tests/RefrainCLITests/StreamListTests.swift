// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  /// `refrain ls`, `info` and `rm` with a stream.
  @Suite(.timeLimit(.minutes(1)))
  struct StreamListTests {
    private static let paths = ["/song.mp3", "/main.m3u8", "/0.ts", "/1.ts", "/2.ts"]

    /// Runs `body` with a cache that has stored a song and a stream of three segments.
    private func withStream(
      pinning pinned: [String] = [],
      _ body: (Program, _ stream: String, _ song: String) async throws -> Void
    ) async throws {
      try await Program.withOrigin { program, origin in
        let cache = try MediaCache(directory: program.cache)
        let main = origin.url("/main.m3u8")
        for (seed, path) in Self.paths.enumerated() {
          let type = path.hasSuffix("m3u8") ? "audio/mpegurl" : "audio/mpeg"
          origin.serve(
            OriginResource(
              .synthetic(seed: UInt64(seed), length: 100_000), contentType: type,
              etag: "\"1\""), at: path)
          var resource = Resource(url: origin.url(path))
          if path != "/song.mp3" {
            resource.policy.group = .init(first: CacheKey(url: main))
          }
          try await cache.prefetch(resource)
          if pinned.contains(path) { try await cache.pin(resource) }
        }
        await cache.close()
        try await body(program, main.absoluteString, origin.url("/song.mp3").absoluteString)
      }
    }

    @Test func `A stream is one row with the number of its parts`() async throws {
      try await withStream { program, stream, song in
        let list = try await program.run("ls")
        #expect(list.lines.count == 4)
        #expect(list.lines[1].hasSuffix(stream) && list.lines[2].hasSuffix(song))
        #expect(list.lines[1].contains("3 parts") && list.lines[1].contains("audio/mpegurl"))
        #expect(list.lines[3].hasPrefix("5 entries, "))
        let parts = try await program.run("ls", "--parts")
        #expect(parts.lines.count == 7)
        #expect(parts.lines.count { $0.contains(".ts") && $0.contains("100%") } == 3)

        // JSON has the parts of a stream, and the stream of each part.
        let rows = try await program.run("ls", "--json").objects
        #expect(rows.map { $0["url"] as? String } == [stream, song])
        #expect(rows.map { $0["parts"] as? Int } == [3, nil])
        #expect(rows.map { $0["cachedBytes"] as? Int } == [400_000, 100_000])
        #expect(rows.map { $0["isComplete"] as? Bool } == [nil, true])
        // The members of every entry.
        let missing = Set(try #require(rows.last).keys).subtracting(rows[0].keys)
        // The manifest is none, so that nobody knows whether the stream is complete.
        #expect(missing == ["length", "isComplete"])
        let entries = try await program.run("ls", "--json", "--parts").objects
        let named = entries.filter { $0["stream"] as? String == stream }
        #expect(entries.count == 5 && named.count == 3)
        #expect(entries.allSatisfy { $0["parts"] == nil })
      }
    }

    @Test func `A pinned stream is marked as pinned`() async throws {
      try await withStream(pinning: Self.paths.filter { $0 != "/song.mp3" }) {
        program, stream, song in
        let list = try await program.run("ls")
        #expect(list.lines[0].contains("PINNED"))
        #expect(list.lines[1].hasSuffix(stream) && list.lines[1].contains(" yes "))
        #expect(list.lines[2].hasSuffix(song) && !list.lines[2].contains(" yes "))
        let rows = try await program.run("ls", "--json").objects
        #expect(rows.map { $0["isPinned"] as? Bool } == [true, false])
        #expect(rows.map { $0["isPartlyPinned"] as? Bool } == [false, nil])
      }
    }

    @Test func `A stream of which a part is pinned is marked as partly pinned`() async throws {
      try await withStream(pinning: ["/1.ts"]) { program, stream, song in
        let list = try await program.run("ls")
        #expect(list.lines[0].contains("PINNED"))
        #expect(list.lines[1].hasSuffix(stream) && list.lines[1].contains("  partly  "))
        #expect(list.lines[2].hasSuffix(song) && !list.lines[2].contains("partly"))
        let rows = try await program.run("ls", "--json").objects
        #expect(rows.map { $0["isPinned"] as? Bool } == [false, false])
        #expect(rows.map { $0["isPartlyPinned"] as? Bool } == [true, nil])
        let info = try await program.run("info", stream)
        #expect(info.lines.contains { $0.hasPrefix("stream ") && $0.hasSuffix(", partly pinned") })
      }
    }

    @Test func `Parts are shown by info, and rm removes a part, then the rest`() async throws {
      try await withStream { program, stream, song in
        let part = stream.replacing("main.m3u8", with: "1.ts")
        let info = try await program.run("info", stream)
        #expect(info.lines.contains { $0.hasPrefix("stream ") && $0.contains("3 parts, ") })
        let object = try await program.run("info", "--json", stream).object
        #expect(object["parts"] as? Int == 3 && object["cachedBytes"] as? Int == 100_000)
        #expect(object["streamCachedBytes"] as? Int == 400_000)
        let lines = try await program.run("info", part).lines
        #expect(lines.contains { $0.hasPrefix("part of ") && $0.hasSuffix(stream) })
        let first = try await program.run("rm", part)
        #expect(first.status == 0 && first.output.hasSuffix("KiB of \(part).\n"))
        let rest = try await program.run("rm", stream)
        #expect(rest.status == 0 && rest.output.hasSuffix("KiB of \(stream) (2 parts).\n"))
        #expect(try await program.run("rm", stream).status == 1)
        let rows = try await program.run("ls", "--json").objects
        #expect(rows.map { $0["url"] as? String } == [song])
        let json = try await program.run("rm", "--json", song).objects
        #expect(json.allSatisfy { $0["parts"] == nil && $0["freedBytes"] != nil })
      }
    }
  }
#endif
