// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain play` from outside: its sample, its end, and a computer without sound.
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct PlayProgramTests {
    @Test func `The sample is played twice and fetched once, and on each run again`() async throws {
      try await Program.with { program in
        for _ in 0..<2 {
          let run = try await program.run(
            "play", "--sample", "--audio-output", program.path("heard.wav"), "--cache",
            program.cache.path())
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
        }
        #expect(try await program.run("ls", "--json").objects.count == 1)
      }
    }

    @Test func `The sample leaves no folder behind`() async throws {
      try await Program.with { program in
        let run = try await program.run("play", "--sample", "--audio-output", program.path("x.wav"))
        #expect(run.status == 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: program.directory.path())
        #expect(!left.contains { $0.hasPrefix("refrain-sample") })
      }
    }

    @Test func `A missing sound device is reported in one line`() async throws {
      try await Program.withTune { program, _, url in
        let run = try await program.run("play", "--json", "--start", "0:13.5", url)
        #expect(run.status == 0)
        let isSilent = run.lines.contains { $0.contains(#""event":"silent""#) }
        #expect(run.errorLines.count == (isSilent ? 1 : 0))
        #expect(run.lines.last?.contains(#""event":"report""#) == true)
      }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGQUIT])
    func `A signal ends playback without an error message`(_ signal: CInt) async throws {
      try await Program.withTune { program, origin, url in
        origin.script("/tune.wav", .on(.all, .stall(at: .resource(1_000_000))))
        let run = try await program.run(
          "play", url, signal: signal,
          when: { origin.log("/tune.wav").stalled > 0 })
        #expect(run.status == 128 + signal)
        #expect(!run.errors.contains("refrain:"))
      }
    }
  }

  /// The messages of `refrain play` about unplayable items; the rest of the list still plays.
  @Suite(.timeLimit(.minutes(2)))
  struct PlayFailureTests {
    /// Runs `body` with the program, the path of a file with the tune, and the path for the
    /// recording.
    private func withTune(
      _ body: (Program, _ tune: String, _ output: String) async throws -> Void
    ) async throws {
      try await Program.with { program in
        try Tune.wav.write(to: program.directory.appending(path: "tune.wav"))
        try await body(program, program.path("tune.wav"), program.path("heard.wav"))
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `Missing files, also in a list, and texts are reported, and the others play`()
      async throws
    {
      try await withTune { program, tune, output in
        let (missing, folder) = (program.path("no such.wav"), program.path("empty"))
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: false)
        let text = try program.write("Notes.\n", "notes.mp3")
        let list = try program.write("no such.mp3\n\(tune)\nnotes.mp3\n", "list.m3u")
        let run = try await program.run(
          "play", "--audio-output", output, missing, tune, folder, list)
        #expect(run.status == 1)
        #expect(run.lines.count == 2)
        #expect(run.lines.allSatisfy { $0.hasPrefix("tune.wav: first sound after ") })
        #expect(run.errorLines.count == 4, "\(run.errors)")
        for file in [missing, program.path("no such.mp3")] {
          #expect(run.errors.contains("refrain: \(file) does not exist. Check its name"))
        }
        #expect(run.errors.contains(" has no media files. Name the files to play"))
        #expect(run.errors.contains("refrain: \(text) is not media that can be played."))
        #expect(!run.errors.contains("browser"))
      }
    }

    @Test func `Invalid or conflicting arguments of play exit with 64`() async throws {
      try await Program.with { program in
        let url = "http://h/tune.wav"
        for arguments in [
          ["--volume", "101", url], ["--repeat", "twice", url], ["--paused", url],
          ["--repeat", "all", "--audio-output", "heard.wav", url],
        ] {
          let run = try await program.run(["play"] + arguments)
          #expect(run.status == 64, "\(arguments): \(run.errors)")
        }
        let run = try await program.run("play", "127.0.0.1:8801/a.mp3")
        #expect(run.status == 64)
        #expect(run.errors.contains("Did you mean http://127.0.0.1:8801/a.mp3?"))
      }
    }

    @Test func `An empty playlist is reported as a failure`() async throws {
      try await withTune { program, _, output in
        let texts = ["", "#EXTM3U\n", "#EXTM3U\n#EXTINF:1,Nothing\n"]
        let lists = try texts.enumerated().map { try program.write($1, "\($0).m3u") }
        let run = try await program.run(["play", "--audio-output", output] + lists)
        #expect(run.status == 1)
        #expect(
          run.errorLines
            == lists.map {
              "refrain: \($0): The playlist is empty. Check that it is the right one: "
                + "it lists no media."
            })
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `A playlist that lists itself is reported, and the rest plays`() async throws {
      try await withTune { program, tune, output in
        let list = try program.write("other.m3u\nmissing.pls\n", "list.m3u")
        _ = try program.write("list.m3u\n\(tune)\n", "other.m3u")
        let run = try await program.run("play", "--audio-output", output, list)
        #expect(run.status == 0)
        #expect(run.lines.count == 1 && run.output.hasPrefix("tune.wav: first sound after "))
        #expect(run.errorLines.count == 2)
        #expect(
          run.errors.contains(
            "other.m3u: “list.m3u” is left out: it is a playlist that lists itself."))
        #expect(run.errors.contains("list.m3u: “missing.pls” does not play: "))
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `The error for a resource that is not media names its kind`() async throws {
      try await Program.withOrigin { program, origin in
        let kinds = [
          ("<!DOCTYPE html>\n<html></html>", "a web page"),
          ("<?xml version=\"1.0\"?>\n<!-- x --><html></html>", "a web page"),
          ("{\"title\": \"A song\"}", "a JSON document"),
        ]
        // mpv inspects longer files further.
        let end = String(repeating: "\n", count: 5000)
        // A name of media is believed until it turns out to be wrong.
        let urls = kinds.enumerated().map {
          origin.serve(text: $1.0 + end, at: "/\($0).mp3", "application/octet-stream")
        }
        let run = try await program.run(["play", "--json"] + urls)
        #expect(run.status == 1)
        for (url, (_, kind)) in zip(urls, kinds) {
          #expect(run.errors.contains("refrain: \(url) is \(kind)"))
          #expect(
            run.lines.contains {
              $0.contains(#""event":"failed""#) && $0.contains(url) && $0.contains(kind)
            })
        }
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `A pipe that is not media is reported, and the program ends`() async throws {
      try await Program.with { program in
        let pipe = program.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        let text = try program.write("Notes.\n", "notes.txt")
        // The writer has one reader: whoever opens the pipe after it would wait for another.
        let running = try RunningProgram(
          program, path: "/bin/sh",
          [
            "-c", #"cat "$1" >"$2" & exec "$0" play --plain "$2""#,
            try Program.executable().path(percentEncoded: false), text, pipe,
          ])
        #expect(await running.end() == 1)
        #expect(running.errors.contains("\(pipe) is not media"), "\(running.errors)")
      }
    }

    @Test func `A podcast feed without episodes is reported as a failure`() async throws {
      let feed = "<rss><channel><item><title>Text</title></item></channel></rss>"
      try await Program.withOrigin { program, origin in
        let run = try await program.run(
          "play", origin.serve(text: feed, at: "/feed.pls", "audio/mpeg"))
        #expect(run.status == 1)
        #expect(run.errors.contains("feed.pls: 1 entry has neither sound nor video."))
        #expect(run.errors.contains("The playlist lists nothing that can be played."))
      }
    }
  }
#endif
