// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain play` in a terminal: sizes, stopping and continuing, and the terminal's state at
  /// exit.
  @Suite(.timeLimit(.minutes(2)), .enabled(if: Tmux.canPlay))
  struct ScreenTerminalTests {
    /// Plays the tune; the file `pid` contains the program's process ID.
    private func playing(
      _ arguments: String = "", _ body: (Tmux, Program) async throws -> Void
    ) async throws {
      try await ScreenStateTests.withTune { tmux, program, _, url in
        try await tmux.enter("stty -g > before; echo earlier")
        try await tmux.waits(until: "earlier") { $0.contains("earlier") }
        try await tmux.enter(
          "(echo $BASHPID > pid; exec ./refrain play \(arguments) \(url)); echo code $?; stty -g > after; echo 'over'"
        )
        try await tmux.waits(for: "▶  tune.wav")
        #expect(try await tmux.isAlternate())
        #expect(try await !tmux.hasCursor())
        try await body(tmux, program)
      }
    }

    private func text(_ name: String, _ program: Program) throws -> String {
      try String(contentsOf: program.directory.appending(path: name), encoding: .utf8)
        .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func process(_ program: Program) throws -> pid_t {
      try #require(pid_t(text("pid", program)))
    }

    private func expectRestored(_ tmux: Tmux, _ program: Program) async throws {
      let lines = try await tmux.waits(until: "the prompt") { $0.contains("over") }
      #expect(lines.contains("earlier"))
      #expect(!lines.contains { $0.contains("●") })
      #expect(try await !tmux.isAlternate())
      #expect(try await tmux.hasCursor())
      #expect(try text("after", program) == text("before", program))
      // Lines wrap again, and pastes are not bracketed.
      try await tmux.enter("printf 'x%.0s' $(seq 100); echo")
      try await tmux.waits(until: "a wrapped line") {
        $0.contains(String(repeating: "x", count: 20))
      }
    }

    @Test func `Quitting restores the terminal`() async throws {
      try await playing { tmux, program in
        try await tmux.press("q")
        try await tmux.waits(for: "code 0")
        try await expectRestored(tmux, program)
      }
    }

    @Test(arguments: [(SIGTERM, 143), (SIGINT, 130), (SIGHUP, 129), (SIGQUIT, 131)])
    func `A signal restores the terminal`(_ signal: CInt, _ code: Int) async throws {
      try await playing { tmux, program in
        kill(try process(program), signal)
        try await tmux.waits(for: "code \(code)")
        try await expectRestored(tmux, program)
      }
    }

    /// In sanitized programs, the sanitizer handles the signals of a crash.
    @Test(
      .disabled(if: TestSeed.isSanitized),
      arguments: [(SIGSEGV, 139), (SIGABRT, 134)])
    func `A crash restores the terminal`(_ signal: CInt, _ code: Int) async throws {
      try await playing { tmux, program in
        kill(try process(program), signal)
        try await tmux.waits(for: "code \(code)")
        try await expectRestored(tmux, program)
      }
    }

    @Test func `A closed window ends the program`() async throws {
      try await playing { tmux, program in
        let process = try process(program)
        try await tmux.close()
        try await eventually("it is gone") { kill(process, 0) != 0 }
      }
    }

    @Test func `Stopping restores the terminal, and continuing restores the screen`() async throws {
      try await ScreenStateTests.withTune { tmux, program, _, url in
        try await tmux.enter("stty -g > before; echo earlier")
        try await tmux.waits(until: "earlier") { $0.contains("earlier") }
        try await tmux.enter("./refrain play --repeat one \(url)")
        for time in 1...2 {
          try await tmux.waits(for: "▶  tune.wav")
          if time == 1 {
            try await tmux.press("C-z")
          } else {
            // As a program would.
            kill(try process(program), SIGTSTP)
          }
          try await tmux.waits(for: "Stopped")
          #expect(try await !tmux.isAlternate())
          try await tmux.enter("stty -g > stopped; jobs -p > pid; echo time '\(time)'")
          let lines = try await tmux.waits(for: "time \(time)")
          #expect(lines.contains("earlier"))
          #expect(try text("stopped", program) == text("before", program))
          try await tmux.enter("fg")
        }
        try await tmux.waits(for: "▶  tune.wav")
        #expect(try await tmux.isAlternate())
        try await tmux.press("Space")
        try await tmux.waits(for: "‖  tune.wav")
        try await tmux.press("q")
        try await tmux.waits(until: "the shell") { !$0.contains { $0.contains("●") } }
        try await tmux.enter("stty -g > after; echo 'really over'")
        try await tmux.waits(until: "the prompt") { $0.contains("really over") }
        #expect(try text("after", program) == text("before", program))
      }
    }

    @Test func `The screen is painted again after SIGSTOP`() async throws {
      try await playing { tmux, program in
        kill(try process(program), SIGSTOP)
        try await tmux.waits(for: "Stopped")
        try await tmux.enter("fg")
        try await tmux.waits(for: "▶  tune.wav")
        try await tmux.press("Space")
        try await tmux.waits(for: "‖  tune.wav")
      }
    }

    @Test func `A resized terminal is filled`() async throws {
      try await playing("--repeat one") { tmux, _ in
        for (columns, rows) in [(120, 40), (40, 12), (20, 3), (200, 60), (80, 24)] {
          try await tmux.resize(columns: columns, rows: rows)
          let margin = columns >= 60 ? 2 : columns >= 30 ? 1 : 0
          try await tmux.waits(until: "\(columns)×\(rows)") { lines in
            lines.contains { $0.contains("●") && $0.displayWidth == columns - margin }
              && lines.contains { $0.contains("tune.wav") }
          }
        }
      }
    }

    @Test func `The --plain option prints lines even in a terminal`() async throws {
      try await ScreenStateTests.withTune { tmux, _, _, url in
        try await tmux.enter("./refrain play --plain --start 12 \(url); echo code $?")
        try await tmux.waits(for: "0:12 / 0:14  tune.wav")
        #expect(try await !tmux.isAlternate())
        try await tmux.waits(for: "code 0")
      }
    }

    @Test func `The screen uses no colours when the environment disables them`() async throws {
      try await ScreenStateTests.withTune { tmux, program, _, url in
        // The sent bytes, as script(1) records them.
        try await tmux.enter(
          "NO_COLOR=1 script -qc './refrain play --paused \(url)' sent; echo code $?")
        try await tmux.waits(for: "‖  tune.wav")
        try await tmux.press("q")
        try await tmux.waits(for: "code 0")
        let sent = try text("sent", program)
        #expect(sent.contains("\u{1B}[?1049h") && sent.contains("\u{1B}[?1049l"))
        #expect(!sent.contains(#/\x1B\[[0-9;]*3[0-7]m/#))
      }
    }
  }
#endif
