// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import FoundationNetworking
  import OriginServer
  import TestSupport
  import Testing

  /// The bytes that players receive from `refrain serve` and `refrain run`.
  @Suite(.timeLimit(.minutes(2)))
  struct ServedBytesTests {
    private static let bytes = SyntheticBytes(seed: 11).bytes(in: 0..<700_000)
    private static let curl = RequiredProgram("curl")

    /// Runs `body` with an origin that serves one song of 700,000 bytes, and the program.
    private func withSong(
      _ body: (Program, OriginServer, _ url: String) async throws -> Void
    ) async throws {
      try await Program.withSong(
        Self.bytes, headers: [Field("Cache-Control", "max-age=3600")], body)
    }

    /// Returns the URL for a player.
    private func proxied(_ url: String, _ program: Program) async throws -> URL {
      let run = try await program.run("url", url)
      let line = try #require(run.lines.first)
      return try #require(URL(string: String(line)))
    }

    private func get(_ url: URL, range: String? = nil) async throws -> Data {
      var request = URLRequest(url: url)
      if let range { request.setValue(range, forHTTPHeaderField: "Range") }
      return try await URLSession(configuration: .ephemeral).data(for: request).0
    }

    @Test func `A second player is served from the cache`() async throws {
      try await withSong { program, origin, url in
        let serve = try RunningProgram(program, ["serve", "--port", "0"])
        _ = try await serve.nextLine()
        let player = try await proxied(url, program)
        #expect(try await get(player) == Data(Self.bytes))
        let cold = try await serve.nextLine()
        #expect(cold.hasPrefix("GET  200 miss") && cold.hasSuffix(url))
        #expect(try await get(player) == Data(Self.bytes))
        let warm = try await serve.nextLine()
        #expect(warm.hasPrefix("GET  200 hit") && warm.contains("683.6 KiB"))
        #expect(origin.log("/song.flac").bodyBytesSent == Int64(Self.bytes.count))
        serve.send(SIGTERM)
        #expect(await serve.end() == 143)
        #expect(serve.errors.isEmpty)
      }
    }

    @Test func `JSON output reports each request`() async throws {
      try await withSong { program, _, url in
        let serve = try RunningProgram(program, ["serve", "--port", "0", "--json"])
        _ = try await serve.nextLine()
        let player = try await proxied(url, program)
        #expect(try await get(player, range: "bytes=1000-1999") == Data(Self.bytes[1000..<2000]))
        let line = try await serve.nextLine()
        let event = try #require(
          try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(event["event"] as? String == "request")
        #expect(event["url"] as? String == url)
        #expect(event["status"] as? Int == 206)
        #expect(event["range"] as? [Int] == [1000, 2000])
        #expect(event["bytesSent"] as? Int == 1000)
        serve.send(SIGTERM)
        _ = await serve.end()
      }
    }

    @Test func `A proxied origin is served under its own paths`() async throws {
      try await withSong { program, origin, url in
        let base = url.dropLast("/song.flac".count)
        let serve = try RunningProgram(
          program, ["serve", "--port", "0", "--quiet", "--origin", String(base)])
        let own = try await serve.nextLine()
        for _ in 0..<2 {
          #expect(
            try await get(try #require(URL(string: "\(own)song.flac"))) == Data(Self.bytes))
        }
        #expect(origin.log("/song.flac").bodyBytesSent == Int64(Self.bytes.count))
        serve.send(SIGTERM)
        _ = await serve.end()
        for await line in serve.lines { Issue.record("was told: \(line)") }
      }
    }

    @Test func `A response in progress is completed after a signal`() async throws {
      try await withSong { program, origin, url in
        origin.script("/song.flac", .on(.all, .stall(at: .resource(500_000))))
        let serve = try RunningProgram(program, ["serve", "--port", "0", "--quiet"])
        _ = try await serve.nextLine()
        let player = try await proxied(url, program)
        async let whole = get(player)
        try await eventually("stalled") { origin.log("/song.flac").stalled > 0 }
        serve.send(SIGTERM)
        try await eventually("closed") { !FreePort.accepts(player.port ?? 0) }
        origin.release("/song.flac")
        #expect(try await whole == Data(Self.bytes))
        #expect(await serve.end() == 143)
      }
    }

    @Test func `A second signal ends the proxy without waiting for responses`() async throws {
      try await withSong { program, origin, url in
        origin.script("/song.flac", .on(.all, .stall(at: .resource(500_000))))
        let serve = try RunningProgram(program, ["serve", "--port", "0", "--quiet"])
        _ = try await serve.nextLine()
        let player = try await proxied(url, program)
        async let whole = try? get(player)
        try await eventually("stalled") { origin.log("/song.flac").stalled > 0 }
        serve.send(SIGTERM)
        try await eventually("closed") { !FreePort.accepts(player.port ?? 0) }
        serve.send(SIGINT)
        #expect(await serve.end() == 128 + SIGINT)
        #expect(await whole != Data(Self.bytes))
        origin.release("/song.flac")
      }
    }

    @Test(.enabled(if: Self.curl.isUsable))
    func `A program started by run receives the bytes, which stay cached`() async throws {
      try await withSong { program, origin, url in
        for _ in 0..<2 {
          let file = program.directory.appending(path: UUID().uuidString)
          let run = try await program.run(
            "run", "--log-level", "info", "--", try Self.curl.path.path(), "-sSf", "-o",
            file.path(), "-w", "%{http_code}", url)
          #expect(run.status == 0)
          #expect(run.output == "200")
          #expect(run.errors.contains("GET  200") && run.errors.contains(url))
          #expect(try Data(contentsOf: file) == Data(Self.bytes))
        }
        #expect(origin.log("/song.flac").bodyBytesSent == Int64(Self.bytes.count))
      }
    }

    @Test(.enabled(if: Self.curl.isUsable))
    func `Headers reach the origin`() async throws {
      try await withSong { program, origin, url in
        origin.serve(
          OriginResource(
            .bytes(Self.bytes), etag: "\"one\"",
            requiredHeader: Field("Authorization", "Bearer abc")),
          at: "/song.flac")
        let curl = try Self.curl.path.path()
        let refused = try await program.run("run", "--", curl, "-sf", "-o", "/dev/null", url)
        #expect(refused.status == 22)
        let run = try await program.run(
          "run", "--header", "Authorization: Bearer abc", "--", curl, "-sf", "-o", "/dev/null",
          url)
        #expect(run.status == 0)
      }
    }

    @Test(.enabled(if: Self.curl.isUsable))
    func `A password in a URL reaches the origin`() async throws {
      try await withSong { program, origin, url in
        origin.serve(
          OriginResource(
            .bytes(Self.bytes), etag: "\"one\"",
            requiredHeader: Field("Authorization", "Basic bWU6c2VjcmV0")),
          at: "/song.flac")
        let run = try await program.run(
          "run", "--log-level", "info", "--", try Self.curl.path.path(), "-sf", "-o", "/dev/null",
          url.replacing("http://", with: "http://me:secret@"))
        #expect(run.status == 0)
        #expect(!run.errors.contains("secret"))
      }
    }
  }
#endif
