// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// The messages of `refrain play` about unplayable items; the rest of the list still plays.
  @Suite(.timeLimit(.minutes(2)))
  struct PlayFailureTests {
    /// Runs `body` with the program, the path of a file with the tune, and the path for the
    /// recording.
    private func withTune(
      _ body: (Program, _ tune: String, _ output: String) async throws -> Void
    ) async throws {
      try await Program.with { program in
        let tune = program.directory.appending(path: "tune.wav")
        try Tune.wav.write(to: tune)
        try await body(
          program, tune.path(percentEncoded: false),
          program.directory.appending(path: "heard.wav").path(percentEncoded: false))
      }
    }

    /// Runs `body` with an origin that serves one text.
    private func withText(
      _ text: String, _ type: String, at path: String,
      _ body: (Program, _ url: String) async throws -> Void
    ) async throws {
      let origin = try await OriginServer.start()
      origin.serve(
        OriginResource(.bytes(Array(text.utf8)), contentType: type, etag: "\"t\""), at: path)
      do {
        try await Program.with { try await body($0, origin.url(path).absoluteString) }
      } catch {
        await origin.stop()
        throw error
      }
      await origin.stop()
    }

    private func write(_ text: String, _ name: String, _ program: Program) throws -> String {
      let file = program.directory.appending(path: name)
      try Data(text.utf8).write(to: file)
      return file.path(percentEncoded: false)
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `A missing file is reported, and the others play`() async throws {
      try await withTune { program, tune, output in
        let missing = program.directory.appending(path: "no such.wav").path(percentEncoded: false)
        let folder = program.directory.appending(path: "empty", directoryHint: .isDirectory)
          .path(percentEncoded: false)
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: false)
        let run = try await program.run("play", "--audio-output", output, missing, tune, folder)
        #expect(run.status == 1)
        #expect(run.lines.count == 1 && run.output.hasPrefix("tune.wav: first sound after "))
        #expect(run.errorLines.count == 2)
        #expect(run.errors.contains("refrain: \(missing) does not exist. Check its name;"))
        #expect(run.errors.contains(" has no media files. Name the files to play"))
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `A missing file in a list is reported as missing, and a text as no media`() async throws {
      try await withTune { program, tune, output in
        let text = try write("Notes.\n", "notes.mp3", program)
        let list = try write("no such.mp3\n\(tune)\nnotes.mp3\n", "list.m3u", program)
        let run = try await program.run("play", "--audio-output", output, list)
        #expect(run.status == 1)
        #expect(run.lines.count == 1 && run.output.hasPrefix("tune.wav: first sound after "))
        let missing = program.directory.appending(path: "no such.mp3").path(percentEncoded: false)
        #expect(run.errors.contains("refrain: \(missing) does not exist. Check its name"))
        #expect(run.errors.contains("refrain: \(text) is not media that can be played."))
        #expect(!run.errors.contains("browser"))
      }
    }

    @Test func `Invalid or conflicting arguments of play exit with 64`() async throws {
      try await Program.with { program in
        let url = "http://h/tune.wav"
        var runs: [Program.Run] = []
        runs.append(try await program.run("play", "--volume", "101", url))
        runs.append(try await program.run("play", "--repeat", "twice", url))
        runs.append(try await program.run("play", "--paused", url))
        runs.append(
          try await program.run("play", "--repeat", "all", "--audio-output", "heard.wav", url))
        runs.append(try await program.run("play", "127.0.0.1:8801/a.mp3"))
        #expect(runs.map(\.status) == [64, 64, 64, 64, 64])
        #expect(runs.last?.errors.contains("Did you mean http://127.0.0.1:8801/a.mp3?") == true)
      }
    }

    @Test(arguments: ["", "#EXTM3U\n", "#EXTM3U\n#EXTINF:1,Nothing\n"])
    func `An empty playlist is reported as a failure`(_ text: String) async throws {
      try await withTune { program, _, output in
        let list = try write(text, "list.m3u", program)
        let run = try await program.run("play", "--audio-output", output, list)
        #expect(run.status == 1)
        #expect(
          run.errors == "refrain: \(list): The playlist is empty. "
            + "Check that it is the right one: it lists no media.\n")
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `A playlist that lists itself is reported, and the rest plays`() async throws {
      try await withTune { program, tune, output in
        let list = try write("other.m3u\nmissing.pls\n", "list.m3u", program)
        _ = try write("list.m3u\n\(tune)\n", "other.m3u", program)
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

    @Test(
      .enabled(if: RequiredLibrary.libmpv.isUsable),
      arguments: [
        ("<!DOCTYPE html>\n<html></html>", "a web page"),
        ("<?xml version=\"1.0\"?>\n<!-- x --><html></html>", "a web page"),
        ("{\"title\": \"A song\"}", "a JSON document"),
      ])
    func `The error for a resource that is not media names its kind`(
      _ text: String, _ kind: String
    ) async throws {
      // mpv inspects longer files further.
      let text = text + String(repeating: "\n", count: 5000)
      // A name of media is believed until it turns out to be wrong.
      try await withText(text, "application/octet-stream", at: "/thing.mp3") { program, url in
        let run = try await program.run("play", "--json", url)
        #expect(run.status == 1)
        #expect(run.errors.contains("refrain: \(url) is \(kind)"))
        #expect(run.lines.contains { $0.contains(#""event":"failed""#) && $0.contains(kind) })
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `A pipe that is not media is reported, and the program ends`() async throws {
      try await Program.with { program in
        let pipe = program.directory.appending(path: "pipe").path(percentEncoded: false)
        try #require(mkfifo(pipe, 0o600) == 0)
        let text = try write("Notes.\n", "notes.txt", program)
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
      try await withText(feed, "audio/mpeg", at: "/feed.pls") { program, url in
        let run = try await program.run("play", url)
        #expect(run.status == 1)
        #expect(run.errors.contains("feed.pls: 1 entry has neither sound nor video."))
        #expect(run.errors.contains("The playlist lists nothing that can be played."))
      }
    }
  }
#endif
