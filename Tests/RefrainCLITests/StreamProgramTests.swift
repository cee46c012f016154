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
    @Test(arguments: ["/tune.m3u8", "/tune.mpd"])
    func `A stream plays in full, and the second time without a request for a segment`(
      _ manifest: String
    ) async throws {
      try await TuneStream.with(manifest) { program, stream in
        for _ in 0..<2 {
          let run = try await program.run("play", "--audio-output", stream.output, stream.url)
          #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
          #expect(run.output.contains(": first sound after "))
          #expect(run.output.hasSuffix(", a stream through the cache\n"))
          #expect(abs(try stream.seconds(in: stream.output) - TuneStream.tuneSeconds) < 0.5)
        }
        #expect(stream.segments.count > 5)
        #expect(stream.requests.allSatisfy { $0 == 1 }, "\(stream.requests)")
        // The second play may ask whether the origin can be reached.
        let asked = stream.origin.log(manifest).requests.map { $0.status ?? 0 }
        #expect(asked.count <= 2, "\(asked)")
        #expect(asked.filter { $0 != 304 }.count == 1, "\(asked)")
      }
    }

    @Test func `The segments are requested with the cookie of the redirect to the playlist`()
      async throws
    {
      let cookie = Field("Cookie", "pass=1")
      try await TuneStream.with("/tune.m3u8", requiring: cookie) { program, stream in
        stream.origin.script(
          "/start.m3u8",
          .on(.all, .redirect(302, to: "/tune.m3u8"), .header("Set-Cookie", "pass=1; Path=/")))
        let run = try await program.run(
          "play", "--audio-output", stream.output,
          stream.origin.url("/start.m3u8").absoluteString)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        #expect(abs(try stream.seconds(in: stream.output) - TuneStream.tuneSeconds) < 0.5)
      }
    }

    @Test func `A play asks for each playlist once, also if the origin wants to confirm each use`()
      async throws
    {
      try await TuneStream.with("/tune.m3u8") { program, stream in
        let list = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=90000,CODECS=\"mp4a.40.2\"\ntune.m3u8\n"
        let url = stream.origin.serve(text: list, at: "/list.m3u8")
        let paths = ["/list.m3u8", "/tune.m3u8"]
        for path in paths {
          stream.origin.script(
            path, .on(.all, .lastModified(nil), .header("Cache-Control", "no-cache")))
        }
        for play in 1...2 {
          let run = try await program.run("play", "--audio-output", stream.output, url)
          #expect(run.status == 0, "\(run.errors)")
          for path in paths {
            let asked = stream.origin.log(path).requests.map { $0.status ?? 0 }
            #expect(asked.count == play && asked.filter { $0 != 304 }.count == 1, "\(asked)")
          }
        }
      }
    }

    /// libmpv selects the best variant of those that the playlist names.
    @Test func `A variant that was fetched plays offline`() async throws {
      try await TuneStream.with("/tune.m3u8") { program, stream in
        let url = stream.serveVariants()
        let get = try await program.run("get", "--quality", "worst", url)
        #expect(get.status == 0, "\(get.errors)")
        #expect(stream.requests.allSatisfy { $0 == 1 }, "\(stream.requests)")
        #expect(stream.origin.log(TuneStream.betterVariant).requests.isEmpty)
        await stream.origin.stopListening()
        let run = try await program.run(
          "play", "--offline", "--audio-output", stream.output, url)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        #expect(abs(try stream.seconds(in: stream.output) - TuneStream.tuneSeconds) < 0.5)
      }
    }

    @Test func `A list's entries are streams and lists of songs, which only their content shows`()
      async throws
    {
      try await TuneStream.with("/tune.m3u8") { program, stream in
        let songs = stream.origin.serve(
          text: "#EXTM3U\nsong.wav\n", at: "/songs.m3u8", "application/octet-stream")
        stream.origin.serve(Tune.resource, at: "/song.wav")
        let list = try program.write(
          "#EXTM3U\n\(songs)\n#EXTINF:-1,A channel\n\(stream.url)\n", "list.m3u")
        let run = try await program.run("play", "--audio-output", stream.output, list)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        #expect(run.lines.count == 2)
        #expect(!stream.origin.log("/song.wav").requests.isEmpty)
        #expect(stream.requests.allSatisfy { $0 == 1 })
        let seconds = try stream.seconds(in: program.path("heard-2.wav"))
        #expect(abs(seconds - TuneStream.tuneSeconds) < 0.5)
      }
    }

    @Test func `Headers are sent with the requests for segments`() async throws {
      let token = Field("Authorization", "Bearer abc")
      try await TuneStream.with("/tune.m3u8", requiring: token) { program, stream in
        let run = try await program.run(
          "play", "--audio-output", stream.output, "--header", "Authorization: Bearer abc",
          stream.url)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        #expect(abs(try stream.seconds(in: stream.output) - TuneStream.tuneSeconds) < 0.5)
      }
    }

    @Test func `A stream in a file is refused with a remedy`() async throws {
      try await TuneStream.with("/tune.m3u8") { program, stream in
        let file = try program.write(stream.text, "tune.m3u8")
        let run = try await program.run("play", "--audio-output", stream.output, file)
        #expect(run.status == 1)
        #expect(run.errors.contains("HTTP Live Stream"))
        #expect(run.errors.contains("Play its URL as one item."))
      }
    }
  }

  /// `refrain run` with a program that reads a stream by itself.
  @Suite(.enabled(if: RequiredProgram.ffmpeg.isUsable), .timeLimit(.minutes(2)))
  struct RunStreamTests {
    @Test func `ffmpeg decodes a stream, and again without the origin`() async throws {
      try await TuneStream.with("/tune.m3u8") { program, stream in
        let ffmpeg = try RequiredProgram.ffmpeg.path.path(percentEncoded: false)
        #expect(stream.segments.count > 5)
        for state in ["cold", "without the origin"] {
          let run = try await program.run(
            "run", "--", ffmpeg, "-nostdin", "-v", "error", "-i", stream.url,
            "-f", "null", "-", "-y", stream.output)
          #expect(run.status == 0 && run.errors.isEmpty, "\(state): \(run.errors)")
          // A segment that cannot be read is left out.
          let seconds = try stream.seconds(in: stream.output)
          #expect(abs(seconds - TuneStream.tuneSeconds) < 0.5, "\(state)")
          #expect(stream.requests.allSatisfy { $0 == 1 }, "\(state): \(stream.requests)")
          await stream.origin.stopListening()
        }
      }
    }
  }
#endif
