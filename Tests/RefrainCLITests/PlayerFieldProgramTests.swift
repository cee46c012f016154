// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// The fields of players and of `--header`, at the hosts of media and streams.
  @Suite(.timeLimit(.minutes(3))) struct PlayerFieldProgramTests {
    private static let referrer = Field("Referer", "https://site.example/watch")

    @Test(.enabled(if: RequiredProgram.curl.isUsable))
    func `A player's Referer and Origin reach the origin of its media`() async throws {
      let curl = try RequiredProgram.curl.path.path(percentEncoded: false)
      try await Program.withSong([UInt8](repeating: 7, count: 100_000)) { program, origin, url in
        let run = try await program.run(
          "run", "--", curl, "-sSf", "-o", "/dev/null", "-e", "https://site.example/watch",
          "-H", "Origin: https://site.example", url)
        #expect(run.status == 0, "\(run.errors)")
        let sent = try #require(origin.log("/song.flac").requests.first).request.headers
        #expect(sent.first("Referer") == "https://site.example/watch")
        #expect(sent.first("Origin") == "https://site.example")
        #expect(sent.first("User-Agent")?.hasPrefix("curl/") == true)
      }
    }

    @Test(.enabled(if: RequiredProgram.curl.isUsable))
    func `get, run and url resolve dot segments`() async throws {
      let curl = try RequiredProgram.curl.path.path(percentEncoded: false)
      try await Program.withSong([1, 2, 3], headers: [.fresh]) { program, origin, url in
        let dotted = url.replacing("/song", with: "/x/.././song")
        let proxied = try await program.run("url", dotted)
        #expect(proxied.status == 0 && proxied.output.hasSuffix("/song.flac\n"))
        #expect(!proxied.output.contains("/.."))
        let run = try await program.run("run", "--", curl, "-sSf", "-o", "/dev/null", dotted)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        let get = try await program.run("get", dotted)
        #expect(get.status == 0, "\(get.errors)")
        let play = try await program.run("path", url)
        #expect(play.status == 0, "\(play.errors)")
        #expect(origin.log("/song.flac").requests.count == 1)
      }
    }

    private enum FrontDoor: String, CaseIterable {
      case get, play, run

      var isUsable: Bool { self != .play || RequiredLibrary.libmpv.isUsable }

      func words(_ url: String, _ output: String, _ options: [String]) throws -> [String] {
        switch self {
        case .get: ["get"] + options + [url]
        case .play: ["play"] + options + ["--audio-output", output, url]
        case .run:
          ["run"] + options + ["--", try RequiredProgram.ffmpeg.path.path(percentEncoded: false)]
            + ["-nostdin", "-v", "error", "-i", url, "-y", output]
        }
      }
    }

    /// Runs a stream whose segments are on a host that responds to a Referer alone.
    private func stream(
      _ body: (Program, TuneStream, _ url: String) async throws -> Void
    ) async throws {
      try await TuneStream.with("/tune.m3u8", requiring: Self.referrer) { program, stream in
        try await OriginServer.with { lists in
          let text = stream.text.split(separator: "\n", omittingEmptySubsequences: false)
            .map {
              $0.hasPrefix("#") || $0.isEmpty
                ? String($0) : stream.origin.url("/\($0)").absoluteString
            }
            .joined(separator: "\n")
          let url = lists.serve(
            text: text, at: "/list.m3u8", requiring: Field("X-Key", "secret"))
          try await body(program, stream, url)
        }
      }
    }

    @Test(.enabled(if: RequiredProgram.ffmpeg.isUsable), arguments: FrontDoor.allCases)
    private func `A stream's parts on another host receive the Referer of the command line`(
      _ door: FrontDoor
    ) async throws {
      guard door.isUsable else { return }
      try await stream { program, stream, url in
        let options = ["--header", "Referer: \(Self.referrer.value)", "--header", "X-Key: secret"]
        let run = try await program.run(try door.words(url, stream.output, options))
        #expect(run.status == 0, "\(run.errors)")
        for segment in stream.segments {
          let asked = stream.origin.log(segment).requests
          #expect(asked.count == 1 && asked.allSatisfy { $0.status.map { $0 < 300 } == true })
          #expect(asked.allSatisfy { $0.request.headers.first("X-Key") == nil })
        }
        guard door != .get else { return }
        #expect(abs(try stream.seconds(in: stream.output) - TuneStream.tuneSeconds) < 0.5)
      }
    }
  }
#endif
