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
      let origin = try await OriginServer.start()
      origin.serve(Tune.resource, at: "/tune.wav")
      origin.script("/tune.wav", .on(.first(1), .status(503)))
      do {
        try await Program.with { try await body($0, origin.url("/tune.wav").absoluteString) }
      } catch {
        await origin.stop()
        throw error
      }
      await origin.stop()
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
        let output = program.directory.appending(path: "heard.wav").path(percentEncoded: false)
        // Written as fast as it is decoded.
        let audio = command == "play" ? ["--audio-output", output] : []
        let running = try RunningProgram(program, [command] + audio + ["--json", url])
        var events: [String] = []
        for await line in running.lines where line.contains(#""event":"retrying""#) {
          events.append(line)
        }
        #expect(await running.end() == 0)
        #expect(events.count == 1)
        #expect(events.first?.contains("503") == true && events.first?.contains(url) == true)
        #expect(events.first?.contains(#""seconds":"#) == true)
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `The play command reports a retry in one line`() async throws {
      try await withTrouble { program, url in
        let output = program.directory.appending(path: "heard.wav").path(percentEncoded: false)
        let run = try await program.run("play", "--audio-output", output, url)
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
#endif
