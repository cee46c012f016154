// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain play` in a terminal: the effects of keys.
  @Suite(.timeLimit(.minutes(2)), .enabled(if: Tmux.canPlay))
  struct ScreenKeyTests {
    /// Plays a list of five entries, each the tune.
    private func withList(
      _ arguments: String = "", _ body: (Tmux) async throws -> Void
    ) async throws {
      try await ScreenStateTests.withTune { tmux, program, _, url in
        let titles = ["First", "Second song", "Third", "Fourth song", "Fifth"]
        let list = titles.enumerated()
          .map { "#EXTINF:14,\($1)\n\(url)?\($0)\n" }.joined()
        _ = try program.write("#EXTM3U\n\(list)", "list.m3u")
        try await tmux.enter("./refrain play \(arguments) list.m3u; echo code $?")
        try await body(tmux)
      }
    }

    private func at(_ time: String) -> ([String]) -> Bool {
      { $0.contains { $0.hasPrefix("  \(time)  ") } }
    }

    @Test func `Space pauses, keys go through the queue, and others leave the help`() async throws {
      try await withList { tmux in
        try await tmux.waits(for: "▶  First")
        try await tmux.press("Space")
        try await tmux.waits(for: "‖  First")
        try await tmux.press("Space")
        try await tmux.waits(for: "▶  First")
        try await tmux.press("n")
        try await tmux.waits(for: "▶  Second song")
        try await tmux.waits(for: "2 of 5")
        try await tmux.press("p")
        try await tmux.waits(for: "▶  First")
        try await tmux.press("?")
        let lines = try await tmux.waits(for: "sleep timer")
        #expect(lines.contains { $0.contains("being fetched") })
        // Neither quits nor pauses.
        try await tmux.press("q")
        try await tmux.waits(for: "First")
        try await tmux.press("?", "Space")
        try await tmux.waits(for: "▶  First")
      }
    }

    @Test func `Arrows, digits and a typed time seek, and help that does not fit scrolls`()
      async throws
    {
      try await withList("--paused") { tmux in
        try await tmux.waits(for: "‖  First")
        try await tmux.press("Right")
        try await tmux.waits(until: "0:05", at("0:05"))
        try await tmux.press("Right")
        try await tmux.waits(until: "0:10", at("0:10"))
        try await tmux.press("Left")
        try await tmux.waits(until: "0:05", at("0:05"))
        try await tmux.press("5")
        try await tmux.waits(until: "the middle", at("0:07"))
        try await tmux.press("Home")
        try await tmux.waits(until: "the start", at("0:00"))
        try await tmux.press("9")
        try await tmux.waits(until: "nine tenths", at("0:12"))
        try await tmux.press("S-Left")
        try await tmux.waits(until: "the start", at("0:00"))

        try await tmux.press(":", "0", ":", "9", "BSpace", "0", "7")
        try await tmux.waits(for: "Go to 0:07")
        try await tmux.press("Enter")
        try await tmux.waits(until: "0:07", at("0:07"))
        try await tmux.press(":", "9", "0", "Enter")
        try await tmux.waits(for: "The item lasts 0:14.")
        // Escape followed by another key at once would be Alt with that key.
        try await tmux.press("Escape")
        try await tmux.waits(until: "it is left") { !$0.contains { $0.contains("Go to") } }
        try await tmux.press("Home")
        try await tmux.waits(until: "the start", at("0:00"))

        try await tmux.resize(columns: 40, rows: 10)
        try await tmux.press("?")
        let top = try await tmux.waits(for: "pause, play")
        #expect(top.contains { $0.contains("scroll") })
        try await tmux.press("Down")
        try await tmux.waits(until: "one line further") { lines in
          !lines.contains { $0.contains("pause, play") }
            && lines.contains { $0.contains("next, previous") }
        }
        try await tmux.press("PageDown", "PageDown", "PageDown", "PageDown")
        try await tmux.waits(for: "not stored")
        // At once: the selection does not move beyond the end.
        try await tmux.press("Up")
        try await tmux.waits(until: "one line back") { lines in
          !lines.contains { $0.contains("not stored") }
        }
        try await tmux.press("Home")
        try await tmux.waits(for: "pause, play")
        try await tmux.press("Space")
        try await tmux.waits(for: "‖  First")
      }
    }

    @Test func `The n key on the last item shows a message and stays there`() async throws {
      try await withList("--paused") { tmux in
        try await tmux.waits(for: "‖  First")
        for title in ["Second song", "Third", "Fourth song", "Fifth"] {
          try await tmux.press("n")
          try await tmux.waits(for: "‖  \(title)")
        }
        try await tmux.press("n")
        let lines = try await tmux.waits(for: "This is the last item.")
        #expect(lines.contains { $0.contains("‖  Fifth") })
        #expect(!lines.contains { $0.contains("code ") })
        // The keys still reach the program.
        try await tmux.press("r")
        try await tmux.waits(for: "repeat all")
        try await tmux.press("n")
        try await tmux.waits(for: "‖  First")
        try await tmux.press("q")
        try await tmux.waits(for: "code 0")
      }
    }

    @Test func `Seek keys do nothing in a live stream, and a message says why`() async throws {
      try await ScreenStateTests.withTune { tmux, _, origin, url in
        var wav = Data(Tune.wav)
        wav.replaceSubrange(40..<44, with: [0, 0, 0, 0x7F])
        origin.serve(
          OriginResource(
            .bytes(wav), contentType: "audio/wav", supportsRanges: false, declaresLength: false,
            headers: [Field("icy-name", "Radio"), Field("Cache-Control", "no-store")],
            bytesPerSecond: 250_000),
          at: "/radio")
        let radio = origin.url("/radio").absoluteString
        try await tmux.enter("./refrain play \(radio) \(url); echo code $?")
        try await tmux.waits(until: "it is live") { lines in
          lines.contains { $0.contains("▶  radio") && $0.contains("Live") }
            && lines.contains { $0.contains("●  live") }
        }
        try await tmux.press("Left")
        try await tmux.waits(for: "Seeking is not possible in a live stream.")
        // A key that shows that those before it have been taken.
        try await tmux.press("Right", "5", "Home", "S")
        let lines = try await tmux.waits(for: "shuffle")
        #expect(lines.contains { $0.contains("▶  radio") && $0.contains("Live") })
        try await tmux.press("q")
        try await tmux.waits(for: "code 0")
      }
    }

    @Test func `Keys move, play and remove the selected item`() async throws {
      try await withList { tmux in
        try await tmux.waits(for: "▶  First")
        try await tmux.press("Down", "Down")
        try await tmux.waits(for: "›   3  Third")
        try await tmux.press("K")
        try await tmux.waits(for: "›   2  Third")
        try await tmux.press("Enter")
        try await tmux.waits(for: "▶  Third")
        try await tmux.press("G")
        try await tmux.waits(for: "›   5  Fifth")
        try await tmux.press("x")
        try await tmux.waits(for: "›   4  Fourth song")
        try await tmux.waits(for: "2 of 4")
      }
    }

    @Test func `The filter shows matching items`() async throws {
      try await withList { tmux in
        try await tmux.waits(for: "▶  First")
        try await tmux.press("/")
        try await tmux.type("song")
        let lines = try await tmux.waits(for: "2 of 5", "Filter song")
        #expect(!lines.contains { $0.contains("3  Third") })
        try await tmux.press("Down", "Enter")
        try await tmux.waits(for: "▶  Fourth song")
        try await tmux.press("/")
        try await tmux.type("q")
        try await tmux.waits(for: "Nothing matches.")
        try await tmux.press("Escape")
        try await tmux.waits(for: "3  Third")
      }
    }

    @Test func `Keys change the settings, and the screen shows them`() async throws {
      try await withList("--volume 50") { tmux in
        try await tmux.waits(for: "volume 50%")
        for (key, text) in [
          ("+", "volume 55%"), ("-", "volume 50%"), ("m", "muted 50%"), ("m", "volume 50%"),
          ("r", "repeat all"), ("r", "repeat one"), ("r", "repeat off"), ("S", "shuffle on"),
          ("S", "shuffle off"), ("]", "rate 1.25×"), ("[", "rate 1×"), ("t", "sleep in 1"),
          ("t", "sleep in 2"), ("t", "sleep in 5"), ("t", "sleep at end of item"),
        ] {
          try await tmux.press(key)
          try await tmux.waits(for: text)
        }
        try await tmux.press("t")
        try await tmux.waits(until: "no timer") { !$0.contains { $0.contains("sleep") } }
      }
    }

    @Test(arguments: [("", 0), ("--log-level info", 2)])
    func `Quitting prints reports of the played items only at the log level info`(
      _ arguments: String, _ count: Int
    ) async throws {
      try await withList(arguments) { tmux in
        for (key, code) in [("q", 0), ("C-c", 130)] {
          try await tmux.waits(for: "▶  First")
          try await tmux.press("n")
          try await tmux.waits(for: "▶  Second song")
          try await tmux.press(key)
          let lines = try await tmux.waits(for: "code \(code)")
          #expect(lines.filter { $0.contains("tune.wav: first sound after") }.count == count)
          guard code == 0 else { break }
          try await tmux.enter("clear; ./refrain play \(arguments) list.m3u; echo code $?")
        }
      }
    }

    /// All three keys come in one read, before the screen is drawn again.
    @Test func `Several keys in one read act on the queue one after the other`() async throws {
      try await ScreenStateTests.withTune { tmux, program, _, url in
        let list = (1...5000).map { "#EXTINF:14,Song \($0)\n\(url)?\($0)\n" }.joined()
        _ = try program.write("#EXTM3U\n\(list)", "list.m3u")
        try await tmux.enter("./refrain play --paused list.m3u; echo code $?")
        try await tmux.waits(for: "1 of 5000")
        try await tmux.type("xxx")
        try await tmux.waits(for: "1 of 4997")
        try await tmux.waits(for: "‖  Song 4")
      }
    }

    @Test func `The sample is shown cold and then warm`() async throws {
      try await Program.with { program in
        try await Tmux.with(program) { tmux in
          try await tmux.enter("./refrain play --sample; echo code $?")
          let cold = try await tmux.waits(for: "╌")
          #expect(cold.contains { $0.contains("cold: from the origin") })
          try await tmux.waits(for: "all of 2.4 MiB stored")
          try await tmux.press("9")
          let warm = try await tmux.waits(until: "the second play") { lines in
            lines.contains { $0.contains("warm: from disk") }
              && lines.contains { $0.contains("of 2.4 MiB stored") }
          }
          #expect(warm.contains { $0.contains("origin idle") && $0.contains("0 requests") })
          try await tmux.press("9")
          let lines = try await tmux.waits(for: "code 0").joined()
          for text in [
            "The sample tune, 2.4 MiB, from", "first play:   first sound",
            "second play:  first sound", "from the origin 0 B in 0 requests", "every byte once",
          ] {
            #expect(lines.contains(text), "\(text)")
          }
        }
      }
    }

    @Test func `The screen is left when the queue ends`() async throws {
      try await ScreenStateTests.withTune { tmux, _, _, url in
        try await tmux.enter("./refrain play --start 13 \(url); echo code $?")
        try await tmux.waits(for: "code 0")
        #expect(try await !tmux.isAlternate())
      }
    }
  }
#endif
