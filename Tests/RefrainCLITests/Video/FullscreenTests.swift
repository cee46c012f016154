// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// The keys that let the window fill the screen.
  @Suite(.enabled(if: Desktop.isUsable), .timeLimit(.minutes(2)))
  struct FullscreenTests {
    @Test(arguments: ["f", "Escape"])
    func `The window fills the display with a key, and returns to its place with another`(
      _ end: String
    ) async throws {
      try await Program.with { program in
        let film = try await CountingFilm.make("film.mkv", in: program)
        let desktop = try await Desktop(program)
        let player = try desktop.play("--paused", film.path(percentEncoded: false))
        try await player.events(PlayEvents.started)
        let window = try await desktop.window()
        try await desktop.press("5", in: window)
        try await desktop.waits(for: 250, in: window, named: "window")
        let before = try await desktop.geometry(of: window)
        #expect(before.size == .film)

        try await desktop.press("f", in: window)
        try await eventually("it fills the display") {
          try await desktop.geometry(of: window) == .wholeDisplay
        }
        try await desktop.waits(for: 250, in: window, of: .display, named: "fullscreen")
        // The other keys work as before.
        try await desktop.press("Left", in: window)
        try await desktop.waits(for: 125, in: window, of: .display, named: "fullscreen-sought")

        try await desktop.press(end, in: window)
        try await eventually("it is as before") {
          try await desktop.geometry(of: window) == before
        }
        try await desktop.waits(for: 125, in: window, named: "window-again")
        try await desktop.press("q", in: window)
        #expect(await player.end() == 0)
        // There is no Wayland, and the environment does not state where it would be.
        #expect(!player.errors.contains("XDG_RUNTIME_DIR"))
      }
    }
  }
#endif
