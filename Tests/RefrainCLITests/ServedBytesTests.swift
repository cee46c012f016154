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

    private func get(_ url: URL, range: String? = nil) async throws -> Data {
      var request = URLRequest(url: url)
      if let range { request.setValue(range, forHTTPHeaderField: "Range") }
      return try await URLSession(configuration: .ephemeral).data(for: request).0
    }

    @Test func `A second player is served from the cache`() async throws {
      try await withSong { program, origin, url in
        let serve = try await program.serving(RunningProgram(program, ["serve", "--port", "0"]))
        let player = try await program.proxied(url)
        #expect(try await get(player) == Data(Self.bytes))
        let cold = try await serve.running.nextLine()
        #expect(cold.hasPrefix("GET  200 miss") && cold.hasSuffix(url))
        #expect(try await get(player) == Data(Self.bytes))
        let warm = try await serve.running.nextLine()
        #expect(warm.hasPrefix("GET  200 hit") && warm.contains("683.6 KiB"))
        #expect(origin.log("/song.flac").bodyBytesSent == Int64(Self.bytes.count))
        await serve.stop()
      }
    }

    @Test func `JSON output reports each request`() async throws {
      try await withSong { program, _, url in
        let serve = try RunningProgram(program, ["serve", "--port", "0", "--json"])
        _ = try await serve.nextLine()
        let player = try await program.proxied(url)
        #expect(try await get(player, range: "bytes=1000-1999") == Data(Self.bytes[1000..<2000]))
        let event = try JSONObject.read(try await serve.nextLine())
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
        let serve = try await program.serve(of: origin)
        for _ in 0..<2 {
          #expect(try await serve.get("/song.flac").body == Self.bytes)
        }
        #expect(origin.log("/song.flac").bodyBytesSent == Int64(Self.bytes.count))
        await serve.stop()
        for await line in serve.running.lines { Issue.record("was told: \(line)") }
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

    @Test(
      .enabled(if: Self.curl.isUsable),
      arguments: [
        (["--header", "Authorization: Bearer abc"], "", "Bearer abc"),
        ([], "me:secret@", "Basic bWU6c2VjcmV0"),
      ])
    func `Headers, and a password in a URL, reach the origin`(
      _ options: [String], _ user: String, _ authorization: String
    ) async throws {
      try await withSong { program, origin, url in
        origin.serve(
          OriginResource(
            .bytes(Self.bytes), etag: "\"one\"",
            requiredHeader: Field("Authorization", authorization)),
          at: "/song.flac")
        func run(_ options: [String], _ url: String) async throws -> Program.Run {
          try await program.run(
            ["run", "--log-level", "info"] + options
              + ["--", try Self.curl.path.path(), "-sf", "-o", "/dev/null", url])
        }
        #expect(try await run([], url).status == 22)
        let known = try await run(options, url.replacing("http://", with: "http://\(user)"))
        #expect(known.status == 0)
        #expect(!known.errors.contains("secret"))
      }
    }
  }
#endif
