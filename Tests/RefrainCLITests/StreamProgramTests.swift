// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain play` with HTTP Live Streams and DASH.
  @Suite(
    .enabled(if: RequiredLibrary.libmpv.isUsable && RequiredProgram.ffmpeg.isUsable),
    .timeLimit(.minutes(3)))
  struct StreamProgramTests {
    /// Runs `body` with a program, and an origin with the tune as a stream.
    ///
    /// - Parameter manifest: `/tune.m3u8` or `/tune.mpd`.
    private func withStream(
      _ manifest: String, requiring header: Field? = nil,
      _ body: (Program, Stream) async throws -> Void
    ) async throws {
      let origin = try await OriginServer.start()
      let result: Result<Void, any Error>
      do {
        try await Program.with { program in
          let folder = program.directory.appending(path: "stream")
          try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
          try await Self.make(manifest, in: folder)
          let names = try FileManager.default.contentsOfDirectory(
            atPath: folder.path(percentEncoded: false))
          for name in names {
            var file = OriginResource(
              .bytes(Array(try Data(contentsOf: folder.appending(path: name)))),
              contentType: "application/octet-stream", etag: "\"\(name)\"",
              headers: [Field("Cache-Control", "max-age=86400")])
            file.requiredHeader = header
            origin.serve(file, at: "/\(name)")
          }
          let output = program.directory.appending(path: "heard.wav")
          try await body(
            program,
            Stream(
              origin: origin, url: origin.url(manifest).absoluteString,
              segments: names.filter { "/\($0)" != manifest }.map { "/\($0)" },
              output: output.path(percentEncoded: false)))
        }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await origin.stop()
      try result.get()
    }

    private struct Stream {
      let origin: OriginServer
      let url: String
      let segments: [String]
      /// The path of the file for the sound.
      let output: String

      /// The seconds of sound in a file.
      func seconds(in file: String) throws -> Double {
        let head = [UInt8](try Data(contentsOf: URL(filePath: file)).prefix(44))
        let bytes = try Data(contentsOf: URL(filePath: file)).count - 44
        let perSecond = head[28..<32].reversed().reduce(0) { $0 << 8 | Int($1) }
        return Double(bytes) / Double(perSecond)
      }

      /// The numbers of requests for each segment.
      var requests: [Int] { segments.map { origin.log($0).requests.count } }
    }

    private static func make(_ manifest: String, in folder: URL) async throws {
      let tune = folder.deletingLastPathComponent().appending(path: "tune.wav")
      try Tune.wav.write(to: tune)
      let process = Process()
      process.executableURL = try RequiredProgram.ffmpeg.path
      process.currentDirectoryURL = folder
      let format =
        manifest.hasSuffix(".mpd")
        ? ["-f", "dash", "-seg_duration", "2"]
        : ["-f", "hls", "-hls_time", "2", "-hls_list_size", "0", "-hls_playlist_type", "vod"]
      process.arguments =
        ["-v", "error", "-i", tune.path(percentEncoded: false), "-c:a", "aac"] + format
        + [String(manifest.dropFirst())]
      let (ends, ended) = AsyncStream<Void>.makeStream()
      process.terminationHandler = { _ in ended.finish() }
      try process.run()
      for await _ in ends {}
      try #require(process.terminationStatus == 0)
    }

    private static let tuneSeconds =
      Double(Tune.samples.count / Tune.channels) / Double(Tune.sampleRate)

    @Test(arguments: ["/tune.m3u8", "/tune.mpd"])
    func `A stream plays in full, and the second time without a request for a segment`(
      _ manifest: String
    ) async throws {
      try await withStream(manifest) { program, stream in
        for _ in 0..<2 {
          let run = try await program.run("play", "--audio-output", stream.output, stream.url)
          #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
          #expect(run.output.contains(": first sound after "))
          #expect(run.output.hasSuffix(", a stream through the cache\n"))
          #expect(abs(try stream.seconds(in: stream.output) - Self.tuneSeconds) < 0.5)
        }
        #expect(stream.segments.count > 5)
        #expect(stream.requests.allSatisfy { $0 == 1 }, "\(stream.requests)")
        // The second play may ask whether the origin can be reached.
        let asked = stream.origin.log(manifest).requests.map { $0.status ?? 0 }
        #expect(asked.count <= 2, "\(asked)")
        #expect(asked.filter { $0 != 304 }.count == 1, "\(asked)")
      }
    }

    @Test func `A stored stream plays offline`() async throws {
      try await withStream("/tune.m3u8") { program, stream in
        let first = try await program.run("play", "--audio-output", stream.output, stream.url)
        #expect(first.status == 0)
        await stream.origin.stopListening()
        let run = try await program.run(
          "play", "--offline", "--audio-output", stream.output, stream.url)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        #expect(abs(try stream.seconds(in: stream.output) - Self.tuneSeconds) < 0.5)
      }
    }

    @Test func `A playlist's entry that is a stream plays`() async throws {
      try await withStream("/tune.m3u8") { program, stream in
        let list = program.directory.appending(path: "list.m3u")
        try Data("#EXTM3U\n#EXTINF:-1,A channel\n\(stream.url)\n".utf8).write(to: list)
        let run = try await program.run(
          "play", "--audio-output", stream.output, list.path(percentEncoded: false))
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        #expect(abs(try stream.seconds(in: stream.output) - Self.tuneSeconds) < 0.5)
      }
    }

    @Test func `A playlist's entry that is another playlist is reported as one`() async throws {
      try await withStream("/tune.m3u8") { program, stream in
        stream.origin.serve(
          OriginResource(.bytes(Array("#EXTM3U\nsong.mp3\n".utf8)), etag: "\"l\""),
          at: "/songs.m3u8")
        let list = program.directory.appending(path: "list.m3u")
        let songs = stream.origin.url("/songs.m3u8").absoluteString
        try Data("\(songs)\n\(stream.url)\n".utf8).write(to: list)
        let run = try await program.run(
          "play", "--audio-output", stream.output, list.path(percentEncoded: false))
        #expect(run.status == 1 && run.errorLines.count == 1)
        #expect(run.errors.contains("refrain: \(songs) is a playlist, not media."))
        #expect(run.lines.count == 1)
      }
    }

    @Test func `Headers are sent with the requests for segments`() async throws {
      let token = Field("Authorization", "Bearer abc")
      try await withStream("/tune.m3u8", requiring: token) { program, stream in
        let run = try await program.run(
          "play", "--audio-output", stream.output, "--header", "Authorization: Bearer abc",
          stream.url)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        #expect(abs(try stream.seconds(in: stream.output) - Self.tuneSeconds) < 0.5)
      }
    }

    @Test func `A stream in a file is refused with a remedy`() async throws {
      try await withStream("/tune.m3u8") { program, stream in
        let file = program.directory.appending(path: "stream/tune.m3u8")
        let run = try await program.run(
          "play", "--audio-output", stream.output, file.path(percentEncoded: false))
        #expect(run.status == 1)
        #expect(run.errors.contains("HTTP Live Stream"))
        #expect(run.errors.contains("Play its URL as one item."))
      }
    }
  }
#endif
