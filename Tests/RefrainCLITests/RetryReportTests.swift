// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// The reason of a failure is shown from the first one on.
  @Suite(.timeLimit(.minutes(2)))
  struct RetryReportTests {
    /// Runs `body` with an origin whose first response is an error, and the program.
    private func withTrouble(
      _ body: (Program, _ url: String) async throws -> Void
    ) async throws {
      try await Program.withOrigin { program, origin in
        origin.serve(Tune.resource, at: "/tune.wav")
        origin.script("/tune.wav", .on(.first(1), .status(503)))
        try await body(program, origin.url("/tune.wav").absoluteString)
      }
    }

    @Test func `The get command reports a retry in one line`() async throws {
      try await withTrouble { program, url in
        let run = try await program.run("get", url)
        #expect(run.status == 0)
        let lines = run.errorLines.filter { $0.hasPrefix("refrain: ") }
        #expect(lines.count == 1)
        #expect(lines.first?.contains(url) == true && lines.first?.contains("503") == true)
        #expect(lines.first?.hasSuffix("The request is retried.") == true)
      }
    }

    @Test func `The get command reports no retry at the log level error`() async throws {
      try await withTrouble { program, url in
        let run = try await program.run("get", "--log-level", "error", url)
        #expect(run.status == 0)
        #expect(!run.errors.contains("refrain: "))
      }
    }

    @Test(arguments: RequiredLibrary.libmpv.isUsable ? ["get", "play"] : ["get"])
    func `A retry is one event in the JSON output`(_ command: String) async throws {
      try await withTrouble { program, url in
        // Written as fast as it is decoded.
        let audio = command == "play" ? ["--audio-output", program.path("heard.wav")] : []
        let run = try await program.run([command] + audio + ["--json", url])
        #expect(run.status == 0)
        let events = run.lines.filter { $0.contains(#""event":"retrying""#) }
        #expect(events.count == 1)
        #expect(events.first?.contains("503") == true && events.first?.contains(url) == true)
        #expect(events.first?.contains(#""seconds":"#) == true)
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `The play command reports a retry in one line`() async throws {
      try await withTrouble { program, url in
        let run = try await program.run(
          "play", "--audio-output", program.path("heard.wav"), url)
        #expect(run.status == 0)
        #expect(run.errorLines.count == 1)
        #expect(run.errors.contains("503") && run.errors.contains("The request is retried."))
      }
    }

    @Test func `The same reason for a retry is reported once until it is forgotten`() {
      let (reports, key) = (RetryReports(), CacheKey(rawValue: "a"))
      let (first, second) = (MediaCacheError(.unreachable, "x"), MediaCacheError(.status, "y"))
      #expect(reports.note(key, first))
      #expect(!reports.note(key, first))
      #expect(reports.note(CacheKey(rawValue: "b"), first))
      #expect(reports.note(key, second))
      reports.forget(key)
      #expect(reports.note(key, second))
    }

    @Test(arguments: [ScreenSize(columns: 80, rows: 24), ScreenSize(columns: 40, rows: 8)])
    func `The screen shows the reason for a retry while an item loads`(_ size: ScreenSize) {
      var model = ScreenModel()
      model.status = .loading
      model.trouble = "h refused the connection."
      let text = ScreenRenderer(.blocks).lines(model, size).map(\.text).joined(separator: "\n")
      #expect(text.contains("h refused the connection."))
      model.status = .playing
      let playing = ScreenRenderer(.blocks).lines(model, size).map(\.text).joined()
      #expect(!playing.contains("refused"))
    }
  }

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
        let output = program.path("heard.wav")
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
