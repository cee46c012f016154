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

    @Test func `A fetched resource is stored as an ordinary file`() async throws {
      try await withSong { program, origin, url in
        let missing = try await program.run("path", url)
        #expect(missing.status == 1)
        #expect(missing.output.isEmpty)
        #expect(missing.errorLines.count == 1)
        #expect(missing.errors.contains("refrain get"))

        #expect(try await program.run("get", url).status == 0)
        let path = try await program.run("path", url)
        #expect(path.status == 0)
        let file = URL(filePath: String(try #require(path.lines.first)))
        #expect(file.pathExtension == "flac")
        #expect(try Data(contentsOf: file) == Data(Self.bytes))

        #expect(try await program.run("get", url).status == 0)
        #expect(origin.log("/song.flac").bodyBytesSent == Int64(Self.bytes.count))
      }
    }

    @Test func `The output file is written in addition to the cache entry`() async throws {
      try await withSong { program, _, url in
        let file = program.directory.appending(path: "out.flac")
        try Data("old".utf8).write(to: file)
        #expect(try await program.run("get", "-o", file.path(), url).status == 0)
        #expect(try Data(contentsOf: file) == Data(Self.bytes))
        #expect(try await program.run("path", url).status == 0)

        let nowhere = program.directory.appending(path: "no/such/folder.flac").path()
        let run = try await program.run("get", "-o", nowhere, url)
        #expect(run.status == 1)
        #expect(run.errors.contains(nowhere))
      }
    }

    @Test func `The ls and info commands report entries as text and as JSON`() async throws {
      try await withSong { program, _, url in
        #expect(try await program.run("ls").output == "0 entries, 0 B of 10.0 GiB\n")
        #expect(try await program.run("ls", "--json").output == "[]\n")
        _ = try await program.run("get", url)
        let list = try await program.run("ls")
        #expect(list.lines.count == 3)
        #expect(list.lines[1].contains("100%") && list.lines[1].hasSuffix(url))

        let info = try await program.run("info", url, "--json")
        let object = try #require(
          try JSONSerialization.jsonObject(with: Data(info.output.utf8)) as? [String: Any])
        #expect(object["url"] as? String == url)
        #expect(object["isComplete"] as? Bool == true)
        #expect(object["cachedBytes"] as? Int == Self.bytes.count)
        #expect(object["spans"] as? [[Int]] == [[0, Self.bytes.count]])
        #expect(try await program.run("info", url).output.contains("audio/flac"))
      }
    }

    @Test func `The rm command removes one entry or all of them`() async throws {
      try await withSong { program, _, url in
        _ = try await program.run("get", url)
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
        let path = try await program.run("path", url)
        truncate(String(try #require(path.lines.first)), 1000)
        let wrong = try await program.run("verify")
        #expect(wrong.status == 1)
        #expect(wrong.errorLines.count == 1)
        #expect(try await program.run("verify").status == 0)
        #expect(try await program.run("get", url).status == 0)
        let whole = try await program.run("path", url)
        let file = URL(filePath: String(try #require(whole.lines.first)))
        #expect(try Data(contentsOf: file) == Data(Self.bytes))
      }
    }

    @Test func `Equivalent spellings of a URL share one entry`() async throws {
      try await Program.with { program in
        let origin = try await OriginServer.start()
        origin.serve(
          OriginResource(.bytes(Self.bytes), contentType: "audio/flac", etag: "\"one\""),
          at: "/My%20S%C3%B6ng.mp3")
        let url = origin.url("/My%20S%C3%B6ng.mp3").absoluteString
        let mixed = url.replacing("%C3%B6", with: "ö")
        #expect(try await program.run("get", mixed).status == 0)
        let capitals = url.replacing("http://", with: "HTTP://").replacing("/My", with: "/./My")
        #expect(try await program.run("info", capitals).status == 0)
        #expect(try await program.run("path", url).status == 0)
        let requests = origin.log("/My%20S%C3%B6ng.mp3").requests
        #expect(requests.allSatisfy { $0.request.target == "/My%20S%C3%B6ng.mp3" })
        #expect(!requests.isEmpty)
        await origin.stop()
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
        var runs: [Program.Run] = []
        runs.append(try await program.run("info", song))
        runs.append(try await program.run("path", song))
        runs.append(try await program.run("get", missing))
        runs.append(try await program.run("get", song, "--json"))
        runs.append(try await program.run("path", song, "--json"))
        runs.append(try await program.run("ls"))
        #expect(runs.last?.output.contains("song.flac") == true)
        for run in runs {
          #expect(!run.output.contains("secret") && !run.errors.contains("secret"))
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
        let entries = try JSONSerialization.jsonObject(
          with: Data(try await program.run("ls", "--json").output.utf8))
        let stored = try #require((entries as? [[String: Any]])?.first?["cachedBytes"] as? Int)
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

  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct PlayProgramTests {
    @Test func `The sample is played twice and fetched once`() async throws {
      try await Program.with { program in
        let file = program.directory.appending(path: "heard.wav")
        let run = try await program.run("play", "--sample", "--audio-output", file.path())
        #expect(run.status == 0)
        #expect(run.errors.isEmpty)
        #expect(run.lines.count == 4)
        #expect(run.lines[1].contains("from disk 0 B"))
        #expect(run.lines[2].contains("from the origin 0 B in 0 requests"))
        #expect(run.output.contains("every byte once"))
        // mpv writes a longer WAV header than ours; the samples are at the file's end.
        let expected = Tune.wav.dropFirst(44)
        for name in ["heard.wav", "heard-2.wav"] {
          let heard = try Data(contentsOf: program.directory.appending(path: name))
          #expect(heard.suffix(expected.count) == expected)
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: program.directory.path())
        #expect(!left.contains { $0.hasPrefix("refrain-sample") })
      }
    }

    @Test func `The sample starts cold on every run in the same cache`() async throws {
      try await Program.with { program in
        for _ in 0..<2 {
          let run = try await program.run(
            "play", "--sample", "--audio-output", program.directory.appending(path: "x.wav").path(),
            "--cache", program.cache.path())
          #expect(run.status == 0)
          #expect(run.lines[1].contains("from disk 0 B"))
        }
        let list = try await program.run("ls", "--json")
        let entries = try #require(
          try JSONSerialization.jsonObject(with: Data(list.output.utf8)) as? [Any])
        #expect(entries.count == 1)
      }
    }

    @Test func `A missing sound device is reported in one line`() async throws {
      try await Program.with { program in
        let origin = try await OriginServer.start()
        origin.serve(Tune.resource, at: "/tune.wav")
        let run = try await program.run(
          "play", "--json", "--start", "0:13.5", origin.url("/tune.wav").absoluteString)
        #expect(run.status == 0)
        let isSilent = run.lines.contains { $0.contains(#""event":"silent""#) }
        #expect(run.errorLines.count == (isSilent ? 1 : 0))
        #expect(run.lines.last?.contains(#""event":"report""#) == true)
        await origin.stop()
      }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGQUIT])
    func `A signal ends playback without an error message`(_ signal: CInt) async throws {
      try await Program.with { program in
        let origin = try await OriginServer.start()
        origin.serve(Tune.resource, at: "/tune.wav")
        origin.script("/tune.wav", .on(.all, .stall(at: .resource(1_000_000))))
        let run = try await program.run(
          "play", origin.url("/tune.wav").absoluteString, signal: signal,
          when: { origin.log("/tune.wav").stalled > 0 })
        #expect(run.status == 128 + signal)
        #expect(!run.errors.contains("refrain:"))
        await origin.stop()
      }
    }
  }
#endif
