// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import TestSupport
import Testing

/// The state of the player's own window, which the engine reports.
@MainActor
@Suite(.timeLimit(.minutes(1)))
struct WindowStateTests {
  private func withPlayer(_ body: (Player, ScriptedEngine) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "refrain-window-\(UUID().uuidString)", directoryHint: .isDirectory)
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try MediaCache(directory: directory)
    let engine = ScriptedEngine()
    try await body(Player(cache: cache, engine: engine), engine)
    await cache.close()
  }

  @Test func `Whether the window fills the screen is known while it is open`() async throws {
    try await withPlayer { player, engine in
      let events = player.events()
      player.play(["ok-30", "ok-40"].map(ScriptedEngine.media))
      #expect(player.isFullscreen == nil && player.state.isFullscreen == nil)
      engine.showWindow(false)
      #expect(player.isFullscreen == false && player.state.isFullscreen == false)
      player.setFullscreen(true)
      #expect(player.isFullscreen == true && player.state.isFullscreen == true)
      // The window stays.
      player.next()
      #expect(player.isFullscreen == true)
      player.setFullscreen(false)
      engine.showWindow(nil)
      #expect(player.isFullscreen == nil && player.state.isFullscreen == nil)
      await player.close()
      var reported: [Bool?] = []
      for await event in events {
        if case .fullscreen(let isFullscreen) = event { reported.append(isFullscreen) }
      }
      #expect(reported == [false, true, false, nil])
    }
  }

  @Test func `Without a window, no engine is told to fill the screen`() async throws {
    try await withPlayer { player, engine in
      player.setFullscreen(true)
      #expect(player.isFullscreen == nil && engine.isFullscreen == nil)
      await player.close()
    }
  }
}
