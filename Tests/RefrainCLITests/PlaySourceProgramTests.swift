// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain play` with what is not a file or a URL of media.
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct PlaySourceProgramTests {
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
        let output = program.directory.appending(path: "heard.wav").path(percentEncoded: false)
        let path = album.path(percentEncoded: false)
        let run = try await program.run(
          "play", "--audio-output", output, "-", input: "\(path)tune.pls\n\(path)tune.wav\n")
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(run.lines.count == 3 && run.lines[1].hasPrefix("tune.wav: first sound after "))
        let whole = Tune.samples.count / Tune.channels
        for name in ["heard.wav", "heard-2.wav", "heard-3.wav"] {
          #expect(abs(try frames(program, name) - whole) <= 8)
        }
      }
    }

    @Test func `A feed plays from the newest episode to the oldest, and is cached`() async throws {
      let origin = try await OriginServer.start(sendBuffer: 64 << 10)
      let field = Field("Cache-Control", "max-age=86400")
      var tune = Tune.resource
      tune.headers.append(field)
      for path in ["/old.wav", "/new"] { origin.serve(tune, at: path) }
      origin.serve(
        OriginResource(
          .bytes(
            Array(
              """
              <rss><channel><title>Show</title>
              <item><title>Old</title><enclosure url="old.wav"/>
                <pubDate>Mon, 02 Jan 2023 10:00:00 GMT</pubDate></item>
              <item><title>New</title><enclosure url="/new" type="audio/wav"/>
                <pubDate>Tue, 03 Jan 2023 10:00:00 GMT</pubDate></item>
              </channel></rss>
              """.utf8)), contentType: "text/html", etag: "\"f\"", headers: [field]),
        at: "/show")
      do {
        try await Program.with { program in
          let output = program.directory.appending(path: "heard.wav").path(percentEncoded: false)
          let url = origin.url("/show").absoluteString
          // On standard input, a URL is like an argument.
          for (argument, input) in [(url, ""), ("-", url)] {
            let run = try await program.run(
              "play", "--audio-output", output, argument, input: input)
            #expect(run.status == 0)
            #expect(run.lines.count == 2 && run.output.hasPrefix("new: first sound after "))
          }
          #expect(origin.log("/show").requests.count == 1)
          #expect(origin.log("/new").bytesSentTwice == 0)
        }
      } catch {
        await origin.stop()
        throw error
      }
      await origin.stop()
    }
  }
#endif
