// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// Damaged manifests: `refrain get` and `refrain play` fail and say why.
  @Suite(.timeLimit(.minutes(2)))
  struct GetStreamDamagedTests {
    private static let cut = "<?xml version=\"1.0\"?><MPD><Period><BaseURL>http://a.example/da"
    private static let bomb =
      "<?xml version=\"1.0\"?><!DOCTYPE MPD [<!ENTITY a \"aa\"><!ENTITY b \"&a;&a;\">]>"
      + "<MPD><Period><BaseURL>&b;</BaseURL></Period></MPD>"
    private static let unterminated = "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,URI=\"http://a.example/a"

    private func withText(
      _ text: String, at path: String, _ body: (Program, _ url: String) async throws -> Void
    ) async throws {
      let origin = try await OriginServer.start()
      origin.serve(
        OriginResource(
          .bytes(Array(text.utf8)), contentType: "application/octet-stream", etag: "\"t\""),
        at: path)
      let result: Result<Void, any Error>
      do {
        try await Program.with { try await body($0, origin.url(path).absoluteString) }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await origin.stop()
      try result.get()
    }

    @Test(arguments: [
      (cut, "/cut.mpd", "it is cut off."), (bomb, "/bomb.mpd", "such as entities"),
      (unterminated, "/unterminated.m3u8", "neither variants nor segments"),
    ])
    func `A damaged manifest is no success, and is not left pinned`(
      _ text: String, _ path: String, _ reason: String
    ) async throws {
      try await withText(text, at: path) { program, url in
        for options in [[], ["--pin"], ["--list"]] {
          let run = try await program.run(["get"] + options + [url])
          #expect(run.status == 1 && run.output.isEmpty, "\(options)")
          #expect(run.errors.contains("refrain: \(url) begins as"), "\(run.errors)")
          #expect(run.errors.contains(reason) && run.errors.contains("'refrain rm'"))
        }
        let lifted = try await program.run("get", "--unpin", url)
        #expect(lifted.output == "\(url) was not pinned.\n")
      }
    }

    @Test(
      .enabled(if: RequiredLibrary.libmpv.isUsable),
      arguments: [
        (cut, "/cut.mpd", "it is cut off."), (bomb, "/bomb.mpd", "such as entities"),
      ])
    func `Playing one reports the same reason`(
      _ text: String, _ path: String, _ reason: String
    ) async throws {
      // mpv inspects longer files further.
      let text = text + String(repeating: "\n", count: 5000)
      try await withText(text, at: path) { program, url in
        let run = try await program.run("play", "--json", url)
        #expect(run.status == 1)
        #expect(run.errors.contains("refrain: \(url) begins as a DASH manifest"), "\(run.errors)")
        #expect(run.errors.contains(reason))
      }
    }
  }
#endif
