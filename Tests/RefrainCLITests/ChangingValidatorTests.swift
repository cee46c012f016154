// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// The program and an origin whose ETag differs in each response.
  @Suite(.timeLimit(.minutes(2)))
  struct ChangingValidatorTests {
    private func withChangingTune(
      _ body: (Program, OriginServer, _ url: String) async throws -> Void
    ) async throws {
      try await Program.withOrigin { program, origin in
        origin.serve(Tune.resource, at: "/tune.wav")
        var script = FaultScript()
        for number in 1...60 {
          script = script.on(.number(number), .etag("\"\(number)\""), .ignoreIfRange)
        }
        origin.script("/tune.wav", script)
        try await body(program, origin, origin.url("/tune.wav").absoluteString)
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `Play plays it to its end, and again from disk`() async throws {
      try await withChangingTune { program, origin, url in
        let output = program.directory.appending(path: "heard.wav").path(percentEncoded: false)
        for isAgain in [false, true] {
          let run = try await program.run("play", "--audio-output", output, url)
          #expect(run.status == 0, "\(run.errors)")
          let heard = try Data(contentsOf: URL(filePath: output)).count
          #expect(heard > Tune.wav.count / 2)
          #expect(origin.log("/tune.wav").requests.count <= (isAgain ? 7 : 6))
        }
      }
    }

    @Test func `Get brings one version`() async throws {
      try await withChangingTune { program, origin, url in
        let run = try await program.run("get", url)
        #expect(run.status == 0, "\(run.errors)")
        let path = try await program.run("path", url).output.trimmingCharacters(in: .newlines)
        #expect(try Data(contentsOf: URL(filePath: path)) == Tune.wav)
        #expect(origin.log("/tune.wav").requests.count <= 4)
      }
    }
  }
#endif
