// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// The program from outside: its output, its files, its exit.
  @Suite(.timeLimit(.minutes(2)))
  struct ProgramTests {
    private static let bytes = SyntheticBytes(seed: 7).bytes(in: 0..<700_000)

    /// Runs `body` with an origin that serves one song of 700,000 bytes, and the program.
    private func withSong(
      _ body: (Program, OriginServer, _ url: String) async throws -> Void
    ) async throws {
      try await Program.withSong(Self.bytes, body)
    }

    /// Returns the URL of the file of a resource.
    private func file(_ url: String, _ program: Program) async throws -> URL {
      let path = try await program.run("path", url)
      #expect(path.status == 0)
      return URL(filePath: String(try #require(path.lines.first)))
    }

    @Test func `A fetched resource is an ordinary file, until rm removes it`() async throws {
      try await withSong { program, origin, url in
        let missing = try await program.run("path", url)
        #expect(missing.status == 1)
        #expect(missing.output.isEmpty)
        #expect(missing.errorLines.count == 1)
        #expect(missing.errors.contains("refrain get"))

        let output = program.directory.appending(path: "out.flac")
        try Data("old".utf8).write(to: output)
        #expect(try await program.run("get", "-o", output.path(), url).status == 0)
        #expect(try Data(contentsOf: output) == Data(Self.bytes))
        let file = try await file(url, program)
        #expect(file.pathExtension == "flac")
        #expect(try Data(contentsOf: file) == Data(Self.bytes))

        #expect(try await program.run("get", url).status == 0)
        #expect(origin.log("/song.flac").bodyBytesSent == Int64(Self.bytes.count))

        let nowhere = program.path("no/such/folder.flac")
        let run = try await program.run("get", "-o", nowhere, url)
        #expect(run.status == 1)
        #expect(run.errors.contains(nowhere))

        let list = try await program.run("ls")
        #expect(list.lines.count == 3)
        #expect(list.lines[1].contains("100%") && list.lines[1].hasSuffix(url))
        let object = try await program.run("info", url, "--json").object
        #expect(object["url"] as? String == url)
        #expect(object["isComplete"] as? Bool == true)
        #expect(object["cachedBytes"] as? Int == Self.bytes.count)
        #expect(object["spans"] as? [[Int]] == [[0, Self.bytes.count]])
        #expect(try await program.run("info", url).output.contains("audio/flac"))

        #expect(try await program.run("rm", url).status == 0)
        let again = try await program.run("rm", url)
        #expect(again.status == 1)
        #expect(again.errorLines.count == 1)
        _ = try await program.run("get", url)
        #expect(try await program.run("rm", "--all").status == 0)
        #expect(try await program.run("ls", "--json").output == "[]\n")
      }
    }

    @Test func `The verify command detects a truncated file`() async throws {
      try await withSong { program, _, url in
        _ = try await program.run("get", url)
        #expect(try await program.run("verify").output == "1 entry, all in order.\n")
        truncate(try await file(url, program).path(), 1000)
        let wrong = try await program.run("verify")
        #expect(wrong.status == 1)
        #expect(wrong.errorLines.count == 1)
        #expect(try await program.run("verify").status == 0)
        #expect(try await program.run("get", url).status == 0)
        #expect(try Data(contentsOf: try await file(url, program)) == Data(Self.bytes))
      }
    }

    @Test func `Inspecting a missing cache creates nothing`() async throws {
      try await Program.with { program in
        let url = "https://example.org/song.flac"
        #expect(try await program.run("ls").output == "0 entries, 0 B of 10.0 GiB\n")
        #expect(try await program.run("ls", "--json").output == "[]\n")
        #expect(try await program.run("verify").output == "0 entries, all in order.\n")
        #expect(try await program.run("rm", "--all").output == "Freed 0 B.\n")
        for command in ["info", "path", "rm", "verify"] {
          let run = try await program.run(command, url)
          #expect(run.status == 1)
          #expect(run.errorLines.count == 1 && run.errors.contains("Nothing is stored for \(url)."))
        }
        #expect(!FileManager.default.fileExists(atPath: program.cache.path()))
        // Nor in an empty folder.
        try FileManager.default.createDirectory(
          at: program.cache, withIntermediateDirectories: false)
        #expect(try await program.run("ls").status == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: program.cache.path()).isEmpty)
      }
    }

    @Test func `A file in place of the cache folder is reported as a file`() async throws {
      try await Program.with { program in
        let path = try program.write("x", "file")
        let run = try await program.run("ls", "--cache", path)
        #expect(run.status == 1)
        #expect(
          run.errors
            == "refrain: The cache directory \(path) cannot be used: Not a directory. Name a folder "
            + "that can be written to; no part of its path may be a file.\n")
        let below = try await program.run("get", "--cache", "\(path)/x", "http://h/a")
        #expect(below.status == 1)
        #expect(below.errors.contains("cannot be used: Not a directory. Name a folder"))
        #expect(!below.errors.contains("Error Domain"))
      }
    }

    @Test func `Equivalent spellings of a URL share one entry`() async throws {
      try await Program.withOrigin { program, origin in
        origin.serve(
          OriginResource(.bytes(Self.bytes), contentType: "audio/flac", etag: "\"one\""),
          at: "/My%20S%C3%B6ng.mp3")
        let url = origin.url("/My%20S%C3%B6ng.mp3").absoluteString
        let mixed = url.replacing("%C3%B6", with: "ö")
        try await #expect(program.run("get", mixed).status == 0)
        let capitals = url.replacing("http://", with: "HTTP://").replacing("/My", with: "/./My")
        try await #expect(program.run("info", capitals).status == 0)
        try await #expect(program.run("path", url).status == 0)
        let requests = origin.log("/My%20S%C3%B6ng.mp3").requests
        #expect(requests.allSatisfy { $0.request.target == "/My%20S%C3%B6ng.mp3" })
        #expect(!requests.isEmpty)
      }
    }

    @Test
    func `A failed download is reported in one line, and the others are fetched`() async throws {
      try await withSong { program, origin, url in
        let missing = origin.url("/missing.flac").absoluteString
        let run = try await program.run("get", missing, url, "--json")
        #expect(run.status == 1)
        #expect(run.errorLines.count == 1)
        #expect(run.errors.contains(missing) && run.errors.contains("404"))
        #expect(run.lines.contains { $0.contains(#""event":"failed""#) })
        #expect(run.lines.last?.contains(#""event":"done""#) == true)
        #expect(try await program.run("path", url).status == 0)
      }
    }

    @Test func `A password in a URL is not shown`() async throws {
      try await withSong { program, origin, url in
        let song = url.replacing("http://", with: "http://me:secret@")
        let missing = origin.url("/missing.flac").absoluteString
          .replacing("http://", with: "http://me:secret@")
        for arguments in [
          ["info", song], ["path", song], ["get", missing], ["get", song, "--json"],
          ["path", song, "--json"], ["ls"],
        ] {
          let run = try await program.run(arguments)
          #expect(!run.output.contains("secret") && !run.errors.contains("secret"))
          if arguments == ["ls"] { #expect(run.output.contains("song.flac")) }
        }
      }
    }

    @Test func `Wrong usage exits with 64 and creates no cache`() async throws {
      try await Program.with { program in
        let wrong = try await program.run("get", "ftp://h/x")
        #expect(wrong.status == 64)
        #expect(try await program.run("ls", "--limit", "5Q").status == 64)
        #expect(!FileManager.default.fileExists(atPath: program.cache.path()))
        #expect(try await program.run("--help").status == 0)
        #expect(try await program.run("--generate-completion-script", "zsh").status == 0)
      }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGQUIT])
    func `A signal ends get cleanly, and the received bytes stay stored`(
      _ signal: CInt
    ) async throws {
      try await withSong { program, origin, url in
        origin.script("/song.flac", .on(.all, .stall(at: .resource(500_000))))
        let run = try await program.run(
          "get", url, signal: signal,
          when: { program.largestFileSize >= 500_000 })
        #expect(run.status == 128 + signal)
        #expect(!run.errors.contains("refrain:"))

        origin.script("/song.flac", FaultScript())
        #expect(try await program.run("verify").status == 0)
        let entries = try await program.run("ls", "--json").objects
        let stored = try #require(entries.first?["cachedBytes"] as? Int)
        #expect(stored > 0)
        origin.release("/song.flac")
        _ = try await origin.wait(for: "/song.flac") { $0.running == 0 }
        origin.resetLog("/song.flac")
        #expect(try await program.run("get", url).status == 0)
        #expect(origin.log("/song.flac").bodyBytesSent == Int64(Self.bytes.count - stored))
      }
    }

    @Test func `An offline get of missing bytes fails without a request`() async throws {
      try await withSong { program, origin, url in
        let run = try await program.run("get", "--offline", url)
        #expect(run.status == 1)
        #expect(run.errorLines.count == 1)
        #expect(origin.log("/song.flac").requests.isEmpty)
        _ = try await program.run("get", url)
        #expect(try await program.run("get", "--offline", url).status == 0)
      }
    }

    @Test func `Headers reach the origin`() async throws {
      try await withSong { program, origin, url in
        origin.serve(
          OriginResource(
            .bytes(Self.bytes), etag: "\"one\"",
            requiredHeader: Field("Authorization", "Bearer abc")),
          at: "/song.flac")
        let refused = try await program.run("get", url)
        #expect(refused.status == 1)
        #expect(
          try await program.run("--header", "Authorization: Bearer abc", "get", url).status == 0)
      }
    }
  }
#endif
