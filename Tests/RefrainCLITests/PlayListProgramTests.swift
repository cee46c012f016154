// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain play` without a terminal: files, playlists, and failures.
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct PlayListProgramTests {
    /// Runs `body` with a program, and an origin with the tune. Sound goes to `heard.wav`, faster
    /// than real time.
    private func withTune(
      _ body: (Program, OriginServer, _ url: String, _ output: String) async throws -> Void
    ) async throws {
      // Bytes in socket buffers count as sent: no more than on a network.
      let origin = try await OriginServer.start(sendBuffer: 64 << 10)
      var tune = Tune.resource
      tune.headers.append(Field("Cache-Control", "max-age=86400"))
      origin.serve(tune, at: "/tune.wav")
      let result: Result<Void, any Error>
      do {
        try await Program.with { program in
          try await body(
            program, origin, origin.url("/tune.wav").absoluteString,
            program.directory.appending(path: "heard.wav").path(percentEncoded: false))
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await origin.stop()
      try result.get()
    }

    private func events(_ run: Program.Run) throws -> [[String: Any]] {
      try run.lines.map {
        try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
      }
    }

    @Test func `A local file plays without a request`() async throws {
      try await withTune { program, origin, _, output in
        let file = program.directory.appending(path: "tune of mine.wav")
        try Tune.wav.write(to: file)
        let run = try await program.run(
          "play", "--audio-output", output, file.path(percentEncoded: false))
        #expect(run.status == 0)
        #expect(run.errors.isEmpty)
        #expect(run.output.hasPrefix("tune of mine.wav: first sound after "))
        #expect(run.output.hasSuffix(", from a file\n"))
        #expect(try Data(contentsOf: URL(filePath: output)).suffix(1000) == Tune.wav.suffix(1000))
        #expect(origin.log("/tune.wav").requests.isEmpty)
      }
    }

    @Test(arguments: [[], ["--start", "3"], ["--shuffle"]])
    func `The first bytes are requested once, however late they come`(
      _ options: [String]
    ) async throws {
      try await withTune { program, origin, url, output in
        origin.script("/tune.wav", .on(.number(1), .delay(nil)))
        async let playing = program.run(
          ["play"] + options + ["--audio-output", output, url])
        try await origin.wait(for: "/tune.wav") { $0.stalled == 1 }
        origin.release("/tune.wav")
        let run = try await playing
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        let log = origin.log("/tune.wav")
        #expect(log.requests.count { $0.request.range?.hasPrefix("bytes=0-") ?? true } == 1)
        #expect(log.bytesSentTwice == 0 || !options.isEmpty)
        #expect(try Data(contentsOf: URL(filePath: output)).suffix(1000) == Tune.wav.suffix(1000))
      }
    }

    @Test func `A URL that its origin refuses is requested once`() async throws {
      try await withTune { program, origin, url, output in
        let missing = origin.url("/missing.wav").absoluteString
        let run = try await program.run("play", "--audio-output", output, missing, url)
        #expect(run.status == 1)
        #expect(run.errorLines.count == 1 && run.errors.contains("404"), "\(run.errors)")
        #expect(run.lines.count == 1 && run.output.hasPrefix("tune.wav: first sound after "))
        #expect(origin.log("/missing.wav").requests.count == 1)
      }
    }

    @Test func `A playlist plays in full, and an unplayable entry is reported`() async throws {
      try await withTune { program, origin, url, output in
        let list = program.directory.appending(path: "list.m3u")
        try Data("#EXTM3U\n\(url)\nftp://h/x\n\(url)?again\n".utf8).write(to: list)
        let run = try await program.run(
          "play", "--audio-output", output, list.path(percentEncoded: false))
        #expect(run.status == 0)
        #expect(run.lines.count == 2)
        #expect(run.errorLines.count == 1 && run.errors.contains("ftp://h/x"))
        let second = program.directory.appending(path: "heard-2.wav")
        #expect(try Data(contentsOf: second).suffix(1000) == Tune.wav.suffix(1000))
      }
    }

    @Test func `A playlist is cached, and its entries are resolved against its URL`() async throws {
      try await withTune { program, origin, url, output in
        origin.serve(
          OriginResource(
            .bytes(Array("tune.wav\n".utf8)), contentType: "audio/x-mpegurl", etag: "\"l\"",
            headers: [Field("Cache-Control", "max-age=86400")]),
          at: "/list.m3u")
        let list = origin.url("/list.m3u").absoluteString
        for _ in 0..<2 {
          let run = try await program.run("play", "--audio-output", output, list)
          #expect(run.status == 0)
          #expect(run.output.hasPrefix("tune.wav: first sound after "))
        }
        #expect(origin.log("/list.m3u").requests.count == 1)
        #expect(origin.log("/tune.wav").bytesSentTwice == 0)
      }
    }

    @Test func `Headers are not sent to another origin`() async throws {
      try await withTune { program, origin, url, output in
        let other = try await OriginServer.start()
        other.serve(
          OriginResource(.bytes(Array("\(url)\n/own.wav\n".utf8)), etag: "\"l\""), at: "/list.m3u")
        other.serve(Tune.resource, at: "/own.wav")
        let run = try await program.run(
          "play", "--audio-output", output, "--header", "Authorization: Bearer abc",
          other.url("/list.m3u").absoluteString)
        #expect(run.status == 0)
        for path in ["/list.m3u", "/own.wav"] {
          #expect(
            other.log(path).requests.allSatisfy {
              $0.request.headers.first("Authorization") == "Bearer abc"
            })
        }
        // Nor to one that the playlist's server redirects to.
        origin.serve(
          OriginResource(.bytes(Array("/far.wav\n".utf8)), etag: "\"f\""), at: "/far.m3u")
        origin.serve(Tune.resource, at: "/far.wav")
        other.script(
          "/moved.m3u",
          .on(.all, .redirect(302, to: origin.url("/far.m3u").absoluteString)))
        let moved = try await program.run(
          "play", "--audio-output", output, "--header", "Authorization: Bearer abc",
          other.url("/moved.m3u").absoluteString)
        #expect(moved.status == 0, "\(moved.errors)")
        for path in ["/tune.wav", "/far.m3u", "/far.wav"] {
          let requests = origin.log(path).requests
          #expect(!requests.isEmpty)
          #expect(requests.allSatisfy { $0.request.headers.first("Authorization") == nil })
        }
        await other.stop()
      }
    }

    @Test func `Each failure is reported in one line, and the other items play`() async throws {
      try await withTune { program, origin, url, output in
        let missing = ["/a.flac", "/b.flac", "/c.flac", "/list.m3u"].map {
          origin.url($0).absoluteString
        }
        let run = try await program.run(
          "play", "--audio-output", output, missing[0], missing[1], missing[2], missing[3], url)
        #expect(run.status == 1)
        #expect(run.errorLines.count == 4)
        for url in missing { #expect(run.errors.contains(url)) }
        #expect(run.lines.count == 1 && run.output.hasPrefix("tune.wav: first sound"))
      }
    }

    @Test func `A queue continues after failed items`() async throws {
      try await withTune { program, origin, url, _ in
        let missing = ["/a.flac", "/b.flac", "/c.flac"].map { origin.url($0).absoluteString }
        let run = try await program.run(
          "play", "--json", "--start", "13", missing[0], missing[1], missing[2], url, "--seek", "13"
        )
        #expect(run.status == 1)
        let names = try events(run).compactMap { $0["event"] as? String }
        #expect(names.filter { $0 == "failed" }.count == 3)
        #expect(names.contains("ended"))
        #expect(names.last == "report")
        #expect(run.errorLines.filter { $0.contains("404") }.count == 3)
      }
    }

    @Test func `JSON output reports the events of playback`() async throws {
      try await withTune { program, _, url, _ in
        let run = try await program.run("play", "--json", "--start", "12", url)
        let events = try events(run)
        let names = events.compactMap { $0["event"] as? String }
        for name in [
          "item", "duration", "started", "status", "position", "cached", "ended", "report",
        ] {
          #expect(names.contains(name), "\(name)")
        }
        #expect(
          Set(names).isSubset(of: [
            "item", "duration", "started", "status", "position", "cached", "ended", "report",
            "silent",
            "metadata",
          ]))
        #expect(events.allSatisfy { $0["url"] as? String == url })
        #expect(names.last == "report")
        #expect(events.contains { $0["totalBytes"] as? Int == Tune.wav.count })
      }
    }

    @Test func `A start beyond the end exits with 1 and names the length`() async throws {
      try await withTune { program, _, url, output in
        let run = try await program.run("play", "--audio-output", output, "--start", "1:15", url)
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.errorLines.count == 1)
        #expect(run.errors.contains("cannot begin at 1:15: it lasts 0:14."))
      }
    }

    @Test func `Only the first item begins at the given start position`() async throws {
      try await withTune { program, _, url, output in
        let run = try await program.run(
          "play", "--audio-output", output, "--start", "10", url, url + "?again")
        #expect(run.status == 0)
        let first = try Data(contentsOf: URL(filePath: output)).count
        let second = try Data(contentsOf: program.directory.appending(path: "heard-2.wav")).count
        let bytesPerSecond = Double(Tune.sampleRate * Tune.channels * 2)
        #expect(abs(Double(second - Tune.wav.count)) < 0.05 * bytesPerSecond)
        #expect(abs(Double(second - first) - 10 * bytesPerSecond) < 0.05 * bytesPerSecond)
      }
    }

    @Test func `JSON output reports a live stream as live and its seeks as refused`() async throws {
      try await withTune { program, origin, _, _ in
        var wav = Data(Tune.wav)
        wav.replaceSubrange(40..<44, with: [0, 0, 0, 0x7F])
        origin.serve(
          OriginResource(
            .bytes(wav), contentType: "audio/wav", supportsRanges: false, declaresLength: false,
            headers: [Field("icy-name", "Radio"), Field("Cache-Control", "no-store")],
            bytesPerSecond: 400_000),
          at: "/radio")
        let running = try RunningProgram(
          program,
          ["play", "--json", "--start", "5", "--seek", "9", origin.url("/radio").absoluteString])
        var lines: [String] = []
        while lines.count(where: { $0.contains(#""event":"seekRefused""#) }) < 2 {
          lines.append(try await running.nextLine())
        }
        running.send(SIGTERM)
        #expect(await running.end() == 143)
        #expect(lines.count { $0.contains(#""event":"live""#) } == 1)
        #expect(!lines.contains { $0.contains(#""event":"duration""#) })
        #expect(!lines.contains { $0.contains(#""event":"failed""#) })
      }
    }

    @Test func `A repeated queue plays until a signal`() async throws {
      try await withTune { program, origin, url, _ in
        let running = try RunningProgram(
          program, ["play", "--json", "--repeat", "all", "--start", "13.5", url])
        var ended = 0
        while ended < 1 {
          if try await running.nextLine().contains(#""event":"ended""#) { ended += 1 }
        }
        while try await !running.nextLine().contains(#""event":"started""#) {}
        running.send(SIGTERM)
        #expect(await running.end() == 143)
        // On a slow machine the request from before the jump is ended, and the bytes in its sockets
        // come again.
        #expect(origin.log("/tune.wav").bytesSentTwice <= 256 << 10)
      }
    }
  }
#endif
