// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// The window fills the screen, by keys, for programs, and for a desktop.
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

    @Test func `Programs let the window fill the display, and follow it`() async throws {
      try await Program.with { program in
        let film = try await CountingFilm.make("film.mkv", in: program)
        let desktop = try await Desktop(program)
        let socket = FileManager.default.temporaryDirectory
          .appending(path: "rf-\(UUID().uuidString.prefix(8))").path(percentEncoded: false)
        // Of a program that was killed. There need not be any.
        defer { try? FileManager.default.removeItem(atPath: socket) }
        let player = try desktop.play(
          "--paused", "--control", socket, film.path(percentEncoded: false))
        try await player.events(PlayEvents.started)
        let window = try await desktop.window()
        let (client, other) = (try ControlConnection(socket), try ControlConnection(socket))
        /// Reads changes until the property has this value; nil: none.
        func waits(for value: Bool?) async throws {
          let value = value.map { ControlValue.bool($0) }
          while try await client.event("property-change", of: "fullscreen").data != value {}
        }
        #expect(try await client.ask(#""observe_property",1,"fullscreen""#).error == "success")
        try await waits(for: false)
        let before = try await desktop.geometry(of: window)
        #expect(try await other.ask(#""set_property","fullscreen",true"#).error == "success")
        try await waits(for: true)
        #expect(try await other.get("fullscreen") == .bool(true))
        try await eventually("it fills the display") {
          try await desktop.geometry(of: window) == .wholeDisplay
        }
        try await desktop.press("f", in: window)
        try await waits(for: false)
        try await eventually("it is as before") {
          try await desktop.geometry(of: window) == before
        }
        try await desktop.press("v", in: window)
        try await waits(for: nil)
        #expect(try await other.ask(#""quit""#).error == "success")
        #expect(await player.end() == 0)
      }
    }

    @Test(.enabled(if: TestBus.isUsable && RequiredProgram.busctl.isUsable))
    func `A desktop lets the window fill the display`() async throws {
      try await TestBus.with { bus in
        try await Program.with { program in
          let film = try await CountingFilm.make("film.mkv", in: program)
          let desktop = try await Desktop(program)
          let player = try desktop.run(
            "/usr/bin/env",
            [
              "DBUS_SESSION_BUS_ADDRESS=\(bus.address)",
              try Program.executable().path(percentEncoded: false), "play", "--json", "--paused",
              film.path(percentEncoded: false),
            ])
          try await player.events(PlayEvents.started)
          let window = try await desktop.window()
          func busctl(_ words: String...) async throws -> String {
            try await bus.run(
              RequiredProgram.busctl,
              arguments: [
                "--user", words[0], "org.mpris.MediaPlayer2.refrain", "/org/mpris/MediaPlayer2",
                "org.mpris.MediaPlayer2",
              ] + Array(words.dropFirst())
            ).text
          }
          try await eventually("a window is offered") {
            try await busctl("get-property", "CanSetFullscreen") == "b true"
          }
          #expect(try await busctl("get-property", "Fullscreen") == "b false")
          #expect(try await busctl("set-property", "Fullscreen", "b", "true") == "")
          try await eventually("it fills the display") {
            try await desktop.geometry(of: window) == .wholeDisplay
          }
          try await eventually("that is shown") {
            try await busctl("get-property", "Fullscreen") == "b true"
          }
          #expect(try await busctl("get-property", "CanRaise") == "b false")
          #expect(try await busctl("call", "Raise").contains("The window cannot be raised."))
          try await desktop.press("q", in: window)
          #expect(await player.end() == 0)
        }
      }
    }
  }
#endif
