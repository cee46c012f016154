// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain play` without a terminal: files, playlists, feeds, and failures.
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct PlayListProgramTests {
    @Test func `A local file plays without a request`() async throws {
      try await Program.withTune { program, origin, _ in
        let file = program.directory.appending(path: "tune of mine.wav")
        try Tune.wav.write(to: file)
        let run = try await program.run(
          "play", "--audio-output", program.path("heard.wav"), program.path("tune of mine.wav"))
        #expect(run.status == 0)
        #expect(run.errors.isEmpty)
        #expect(run.output.hasPrefix("tune of mine.wav: first sound after "))
        #expect(run.output.hasSuffix(", from a file\n"))
        #expect(
          try Data(contentsOf: program.directory.appending(path: "heard.wav")).suffix(1000)
            == Tune.wav.suffix(1000))
        #expect(origin.log("/tune.wav").requests.isEmpty)
      }
    }

    @Test(arguments: [[], ["--start", "3", "--shuffle"]])
    func `The first bytes are requested once, however late they come`(
      _ options: [String]
    ) async throws {
      try await Program.withTune { program, origin, url in
        origin.script("/tune.wav", .on(.number(1), .delay(nil)))
        async let playing = program.run(
          ["play"] + options + ["--audio-output", program.path("heard.wav"), url])
        try await origin.wait(for: "/tune.wav") { $0.stalled == 1 }
        origin.release("/tune.wav")
        let run = try await playing
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        let log = origin.log("/tune.wav")
        #expect(log.requests.count { $0.request.range?.hasPrefix("bytes=0-") ?? true } == 1)
        #expect(log.bytesSentTwice == 0 || !options.isEmpty)
        #expect(
          try Data(contentsOf: program.directory.appending(path: "heard.wav")).suffix(1000)
            == Tune.wav.suffix(1000))
      }
    }

    @Test func `A playlist plays in full, and an unplayable entry is reported`() async throws {
      try await Program.withTune { program, origin, url in
        let list = try program.write("#EXTM3U\n\(url)\nftp://h/x\n\(url)?again\n", "list.m3u")
        let run = try await program.run("play", "--audio-output", program.path("heard.wav"), list)
        #expect(run.status == 0)
        #expect(run.lines.count == 2)
        #expect(run.errorLines.count == 1 && run.errors.contains("ftp://h/x"))
        let second = program.directory.appending(path: "heard-2.wav")
        #expect(try Data(contentsOf: second).suffix(1000) == Tune.wav.suffix(1000))
      }
    }

    @Test func `A playlist is cached, and its entries are resolved against its URL`() async throws {
      try await Program.withTune { program, origin, url in
        let list = origin.serve(
          text: "tune.wav\n", at: "/list.m3u", "audio/x-mpegurl", headers: [.fresh])
        for _ in 0..<2 {
          let run = try await program.run("play", "--audio-output", program.path("heard.wav"), list)
          #expect(run.status == 0)
          #expect(run.output.hasPrefix("tune.wav: first sound after "))
        }
        #expect(origin.log("/list.m3u").requests.count == 1)
        #expect(origin.log("/tune.wav").bytesSentTwice == 0)
      }
    }

    @Test func `Headers are not sent to another origin`() async throws {
      try await Program.withTune { program, origin, url in
        try await OriginServer.with { other in
          let list = other.serve(text: "\(url)\n/own.wav\n", at: "/list.m3u")
          other.serve(Tune.resource, at: "/own.wav")
          let run = try await program.run(
            "play", "--audio-output", program.path("heard.wav"), "--header",
            "Authorization: Bearer abc", list)
          #expect(run.status == 0)
          for (requests, authorization) in [
            (other.log("/list.m3u").requests, "Bearer abc"),
            (other.log("/own.wav").requests, "Bearer abc"),
            (origin.log("/tune.wav").requests, nil),
          ] {
            #expect(!requests.isEmpty)
            #expect(
              requests.allSatisfy { $0.request.headers.first("Authorization") == authorization })
          }
        }
      }
    }

    @Test func `Each failure is reported in one line, and the other items play`() async throws {
      try await Program.withTune { program, origin, url in
        let paths = ["/a.flac", "/b.flac", "/c.flac", "/list.m3u"]
        let missing = paths.map { origin.url($0).absoluteString }
        let run = try await program.run(
          ["play", "--audio-output", program.path("heard.wav")] + missing + [url])
        #expect(run.status == 1)
        #expect(run.errorLines.count == 4 && run.errorLines.allSatisfy { $0.contains("404") })
        for url in missing { #expect(run.errors.contains(url)) }
        #expect(run.lines.count == 1 && run.output.hasPrefix("tune.wav: first sound"))
        for path in paths { #expect(origin.log(path).requests.count == 1, "\(path)") }
      }
    }

    @Test func `JSON output reports the events of playback, and failed items before it`()
      async throws
    {
      try await Program.withTune { program, origin, url in
        let missing = ["/a.flac", "/b.flac", "/c.flac"].map { origin.url($0).absoluteString }
        let run = try await program.run(
          ["play", "--json", "--audio-output", program.path("heard.wav")] + missing + [url])
        #expect(run.status == 1)
        #expect(run.errorLines.filter { $0.contains("404") }.count == 3)
        let events = try run.events
        let failed = events.filter { $0["event"] as? String == "failed" }
        #expect(failed.map { $0["url"] as? String } == missing)
        let played = events.filter { $0["url"] as? String == url }
        let names = played.compactMap { $0["event"] as? String }
        let expected: Set = [
          "item", "duration", "started", "status", "position", "cached", "ended", "report",
        ]
        #expect(expected.isSubset(of: names), "\(names)")
        #expect(Set(names).isSubset(of: expected.union(["silent", "metadata"])), "\(names)")
        #expect(events.allSatisfy { $0["url"] is String })
        #expect(names.last == "report" && events.last?["event"] as? String == "report")
        #expect(played.contains { $0["totalBytes"] as? Int == Tune.wav.count })
      }
    }

    @Test func `A start beyond the end exits with 1 and names the length`() async throws {
      try await Program.withTune { program, _, url in
        let run = try await program.run(
          "play", "--audio-output", program.path("heard.wav"), "--start", "1:15", url)
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.errorLines.count == 1)
        #expect(run.errors.contains("cannot begin at 1:15: it lasts 0:14."))
      }
    }

    @Test func `Only the first item begins at the given start position`() async throws {
      try await Program.withTune { program, _, url in
        let run = try await program.run(
          "play", "--audio-output", program.path("heard.wav"), "--start", "10", url, url + "?again")
        #expect(run.status == 0)
        let first = try Data(contentsOf: program.directory.appending(path: "heard.wav")).count
        let second = try Data(contentsOf: program.directory.appending(path: "heard-2.wav")).count
        let bytesPerSecond = Double(Tune.sampleRate * Tune.channels * 2)
        #expect(abs(Double(second - Tune.wav.count)) < 0.05 * bytesPerSecond)
        #expect(abs(Double(second - first) - 10 * bytesPerSecond) < 0.05 * bytesPerSecond)
      }
    }

    @Test func `JSON output reports a live stream as live and its seeks as refused`() async throws {
      try await Program.withTune { program, origin, _ in
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
      try await Program.withTune { program, origin, url in
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

    // MARK: Sources

    private func frames(_ program: Program, _ name: String) throws -> Int {
      let bytes = try Data(contentsOf: program.directory.appending(path: name))
      return (bytes.count - 44) / 4
    }

    @Test func `A list on standard input plays: a playlist in a folder, and a file`() async throws {
      try await Program.with { program in
        let album = program.directory.appending(path: "album", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: album, withIntermediateDirectories: false)
        try Tune.wav.write(to: album.appending(path: "tune.wav"))
        try Data("[playlist]\nFile1=tune.wav\nFile2=tune.wav\n".utf8)
          .write(to: album.appending(path: "tune.pls"))
        let path = album.path(percentEncoded: false)
        let run = try await program.run(
          "play", "--audio-output", program.path("heard.wav"), "-",
          input: "\(path)tune.pls\n\(path)tune.wav\n")
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(run.lines.count == 3 && run.lines[1].hasPrefix("tune.wav: first sound after "))
        let whole = Tune.samples.count / Tune.channels
        for name in ["heard.wav", "heard-2.wav", "heard-3.wav"] {
          #expect(abs(try frames(program, name) - whole) <= 8)
        }
      }
    }

    @Test func `A feed plays from the newest episode to the oldest, and is cached`() async throws {
      let feed = """
        <rss><channel><title>Show</title>
        <item><title>Old</title><enclosure url="old.wav"/>
          <pubDate>Mon, 02 Jan 2023 10:00:00 GMT</pubDate></item>
        <item><title>New</title><enclosure url="/new" type="audio/wav"/>
          <pubDate>Tue, 03 Jan 2023 10:00:00 GMT</pubDate></item>
        </channel></rss>
        """
      try await Program.withOrigin(sendBuffer: 64 << 10) { program, origin in
        var tune = Tune.resource
        tune.headers.append(.fresh)
        for path in ["/old.wav", "/new"] { origin.serve(tune, at: path) }
        let url = origin.serve(text: feed, at: "/show", "text/html", headers: [.fresh])
        // On standard input, a URL is like an argument.
        for (argument, input) in [(url, ""), ("-", url)] {
          let run = try await program.run(
            "play", "--audio-output", program.path("heard.wav"), argument, input: input)
          #expect(run.status == 0)
          #expect(run.lines.count == 2 && run.output.hasPrefix("new: first sound after "))
        }
        #expect(origin.log("/show").requests.count == 1)
        #expect(origin.log("/new").bytesSentTwice == 0)
      }
    }
  }
#endif
