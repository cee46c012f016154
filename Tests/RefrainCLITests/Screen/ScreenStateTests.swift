// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain play` in a terminal: its display of the state.
  @Suite(.timeLimit(.minutes(2)), .enabled(if: Tmux.canPlay))
  struct ScreenStateTests {
    private static let sizes = [
      ScreenSize(columns: 80, rows: 24), ScreenSize(columns: 120, rows: 40),
    ]

    /// Runs `body` with the program in a terminal, and an origin with the tune, which lasts 14
    /// seconds and has 2.4 MiB.
    static func withTune(
      bytesPerSecond: Int? = nil,
      _ body: (Tmux, Program, OriginServer, _ url: String) async throws -> Void
    ) async throws {
      try await Program.withOrigin { program, origin in
        var tune = Tune.resource
        tune.headers.append(.fresh)
        tune.bytesPerSecond = bytesPerSecond
        origin.serve(tune, at: "/tune.wav")
        try await Tmux.with(program) { tmux in
          try await body(tmux, program, origin, origin.url("/tune.wav").absoluteString)
        }
      }
    }

    /// Waits until the screen is filled and satisfies the condition, in a terminal of one size after
    /// the other.
    private func waitsInEachSize(
      _ tmux: Tmux, until what: String, _ condition: ([String], ScreenSize) -> Bool,
      then check: ([String]) throws -> Void = { _ in }
    ) async throws {
      for size in Self.sizes {
        try await tmux.resize(columns: size.columns, rows: size.rows)
        let lines = try await tmux.waits(until: "\(what), \(size.columns) wide") { lines in
          lines.contains { $0.contains("●") && $0.displayWidth == size.columns - 2 }
            && condition(lines, size)
        }
        expectWithin(size, lines)
        try check(lines)
      }
    }

    private func expectWithin(_ size: ScreenSize, _ lines: [String]) {
      #expect(lines.count <= size.rows + 1)
      for line in lines { #expect(line.displayWidth <= size.columns, "\(line)") }
    }

    /// Returns the scrubber's bar.
    private func bar(_ lines: [String]) throws -> Substring {
      let line = try #require(lines.first { $0.contains("●") })
      return line.drop { !"━─╌·●".contains($0) }.prefix { "━─╌·●".contains($0) }
    }

    /// Returns the stored part in percent.
    private func stored(_ lines: [String]) -> Int? {
      lines.first { $0.contains("% of 2.4 MiB stored") }.flatMap {
        Int($0.split(separator: "%")[0].drop { $0 == " " })
      }
    }

    /// Whether the bar and the percentage state the same stored part.
    private func isConsistent(_ lines: [String]) -> Bool {
      guard let percent = stored(lines), let bar = try? bar(lines), !bar.isEmpty else {
        return false
      }
      let cached = bar.count { $0 == "─" || $0 == "●" }
      return abs(Double(cached) / Double(bar.count) * 100 - Double(percent)) < 5
    }

    @Test func `A cold item shows its download and a hit ratio of 0%`() async throws {
      try await Self.withTune(bytesPerSecond: 200_000) { tmux, _, _, url in
        try await tmux.enter("./refrain play \(url)")
        try await waitsInEachSize(tmux, until: "playing, with speed and shades") { lines, _ in
          let text = lines.joined()
          return text.contains("Playing") && text.contains("KiB/s") && text.contains("╌")
            && text.contains("─●") == false && text.contains("●─") && text.contains("q quit")
        } then: { lines in
          #expect(lines.contains { $0.contains("▶  tune.wav") })
          #expect(
            lines.contains { $0.contains("% of 2.4 MiB stored") && $0.contains("hit ratio 0%") })
          // All missing bytes are being fetched.
          try #expect(bar(lines).contains("╌"))
          #expect(lines.last { !$0.isEmpty }?.contains("q quit") == true)
        }
        try await tmux.press("q")
        try await tmux.waits(until: "the shell") { !$0.contains { $0.contains("●") } }
      }
    }

    @Test func `A half cached item shows the stored part in the bar`() async throws {
      try await Self.withTune { tmux, _, origin, url in
        origin.script("/tune.wav", .on(.all, .stall(at: .resource(1_200_000))))
        try await tmux.enter("./refrain play --paused \(url)")
        // Bytes requested beyond the stalled position arrive.
        try await waitsInEachSize(tmux, until: "a part of it") { lines, _ in
          lines.contains { $0.contains("Paused") } && lines.contains { $0.contains("╌") }
            && (stored(lines) ?? 0) > 30 && isConsistent(lines)
        } then: { lines in
          try #expect(bar(lines).first == "●")
          let part = try #require(stored(lines))
          #expect(part < 100)
        }
        origin.release("/tune.wav")
        origin.script("/tune.wav", FaultScript())
        try await tmux.waits(for: "all of 2.4 MiB stored")
      }
    }

    @Test func `A stalled item shows that it waits for bytes`() async throws {
      try await Self.withTune { tmux, _, origin, url in
        origin.script("/tune.wav", .on(.all, .stall(at: .resource(600_000))))
        try await tmux.enter("./refrain play \(url)")
        try await waitsInEachSize(tmux, until: "waiting") { lines, _ in
          ["◌  tune.wav", "Waiting for bytes", "space pause"].allSatisfy { text in
            lines.contains { $0.contains(text) }
          }
        }
        origin.script("/tune.wav", FaultScript())
        origin.release("/tune.wav")
        try await tmux.waits(for: "▶  tune.wav")
      }
    }

    @Test func `A failed item shows its error, and play exits with 1`() async throws {
      try await Self.withTune { tmux, _, origin, _ in
        let url = origin.url("/missing.flac").absoluteString
        for (number, size) in Self.sizes.enumerated() {
          try await tmux.resize(columns: size.columns, rows: size.rows)
          try await tmux.enter(
            "./refrain play \(url) 2> errors; code=$?; cat errors; echo \(number): code $code")
          let lines = try await tmux.waits(
            for: "✗  missing.flac", "Failed", "404", "✗ 1  missing.flac")
          expectWithin(size, lines)
          try await tmux.press("q")
          let after = try await tmux.waits(for: "\(number): code 1")
          #expect(after.contains { $0.contains("refrain:") })
        }
      }
    }

    @Test func `Log messages are shown below the bar and fit the screen`() async throws {
      try await Self.withTune(bytesPerSecond: 400_000) { tmux, _, _, url in
        try await tmux.enter("./refrain play --log-level info \(url)")
        let lines = try await tmux.waits(until: "a message below the bar") {
          $0.contains { $0.contains("!  fetching bytes") } && $0.contains { $0.contains("●") }
        }
        expectWithin(Self.sizes[0], lines)
      }
    }

    @Test func `The screen is pure ASCII without UTF-8`() async throws {
      try await Self.withTune { tmux, _, _, url in
        try await tmux.enter("LC_ALL=C ./refrain play --paused \(url)")
        let lines = try await tmux.waits(for: "=  tune.wav")
        #expect(lines.allSatisfy { $0.allSatisfy(\.isASCII) })
      }
    }
  }
#endif
