// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// The window fills the screen, by keys, and for a desktop.
  @Suite(.enabled(if: Desktop.isUsable), .timeLimit(.minutes(2)))
  struct FullscreenTests {
    @Test func `The window fills the display with a key, and returns to its place with two`()
      async throws
    {
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

        func fills() async throws {
          try await desktop.press("f", in: window)
          try await eventually("it fills the display") {
            try await desktop.geometry(of: window) == .wholeDisplay
          }
        }
        func returns(by key: String) async throws {
          try await desktop.press(key, in: window)
          try await eventually("it is as before") {
            try await desktop.geometry(of: window) == before
          }
        }
        try await fills()
        try await desktop.waits(for: 250, in: window, of: .display, named: "fullscreen")
        // The other keys work as before.
        try await desktop.press("Left", in: window)
        try await desktop.waits(for: 125, in: window, of: .display, named: "fullscreen-sought")
        try await returns(by: "f")
        try await desktop.waits(for: 125, in: window, named: "window-again")
        try await fills()
        try await returns(by: "Escape")
        try await desktop.press("q", in: window)
        #expect(await player.end() == 0)
        // There is no Wayland, and the environment does not state where it would be.
        #expect(!player.errors.contains("XDG_RUNTIME_DIR"))
      }
    }

    @Test(.enabled(if: TestBus.isUsable && RequiredProgram.busctl.isUsable))
    func `A desktop lets the window fill the display, and follows it`() async throws {
      try await TestBus.with { bus in
        try await Program.with { program in
          let film = try await CountingFilm.make("film.mkv", in: program)
          let desktop = try await Desktop(program)
          let player = try desktop.run(
            "/usr/bin/env",
            bus.playing(["--json", "--paused", film.path(percentEncoded: false)]))
          try await player.events(PlayEvents.started)
          let window = try await desktop.window()
          func waits(for value: Bool, of property: String) async throws {
            try await eventually("\(property) is \(value)") {
              try await bus.busctl("get-property", property) == "b \(value)"
            }
          }
          try await waits(for: true, of: "CanSetFullscreen")
          #expect(try await bus.busctl("get-property", "Fullscreen") == "b false")
          let before = try await desktop.geometry(of: window)
          #expect(try await bus.busctl("set-property", "Fullscreen", "b", "true") == "")
          try await eventually("it fills the display") {
            try await desktop.geometry(of: window) == .wholeDisplay
          }
          try await waits(for: true, of: "Fullscreen")
          try await desktop.press("f", in: window)
          try await waits(for: false, of: "Fullscreen")
          try await eventually("it is as before") {
            try await desktop.geometry(of: window) == before
          }
          #expect(try await bus.busctl("get-property", "CanRaise") == "b false")
          #expect(try await bus.busctl("call", "Raise").contains("The window cannot be raised."))
          try await desktop.press("v", in: window)
          try await waits(for: false, of: "CanSetFullscreen")
          #expect(try await bus.busctl("call", "Quit") == "")
          #expect(await player.end() == 0)
        }
      }
    }
  }
#endif
