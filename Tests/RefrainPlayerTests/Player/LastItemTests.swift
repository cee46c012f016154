// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import TestSupport
import Testing

/// The end of the last item.
@MainActor
@Suite(.timeLimit(.minutes(1)))
struct LastItemTests {
  private func withPlayer(_ body: (Player, ScriptedEngine) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "refrain-last-\(UUID().uuidString)", directoryHint: .isDirectory)
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try MediaCache(directory: directory)
    let engine = ScriptedEngine()
    try await body(Player(cache: cache, engine: engine), engine)
    await cache.close()
  }

  @Test func `Next on the last item ends the queue, which announces no next item`() async throws {
    try await withPlayer { player, engine in
      player.play(["ok-30", "ok-40"].map(ScriptedEngine.media))
      #expect(player.queue.next(.asked)?.media.title == "ok-40")
      player.next()
      #expect(player.queue.next(.asked) == nil)
      player.next()
      #expect(player.status == .ended && engine.current == nil)
      #expect(player.queue.currentIndex == 1)
      // Nothing is left to end.
      player.next()
      #expect(player.status == .ended)
    }
  }

  @Test func `Next on the last item of a repeating queue plays the first one`() async throws {
    try await withPlayer { player, engine in
      player.play(["ok-30", "ok-40"].map(ScriptedEngine.media), startingAt: 1)
      player.repeatMode = .all
      player.next()
      #expect(player.queue.currentIndex == 0 && engine.current?.item.media.title == "ok-30")
    }
  }

  @Test func `Items that do not exist are skipped, however many follow each other`() async throws {
    try await withPlayer { player, engine in
      player.play(["missing", "missing", "missing", "ok-30"].map(ScriptedEngine.media))
      for _ in 0..<3 {
        engine.take(.begin)
        engine.take(.fail)
      }
      #expect(player.queue.currentIndex == 3 && player.status == .loading)
      // The same failure of one item is one of the others, too, if that is repeated.
      player.play(["missing", "ok-30", "ok-40"].map(ScriptedEngine.media))
      player.repeatMode = .one
      for _ in 0..<2 {
        engine.take(.begin)
        engine.take(.fail)
      }
      guard case .failed = player.status else {
        Issue.record("\(player.status)")
        return
      }
    }
  }

  @Test func `The same failure of two items that is one of the network ends the queue`()
    async throws
  {
    try await withPlayer { player, engine in
      player.play(["gone", "gone", "ok-30"].map(ScriptedEngine.media))
      for _ in 0..<2 {
        engine.take(.begin)
        engine.take(.fail)
      }
      guard case .failed = player.status else {
        Issue.record("\(player.status)")
        return
      }
      #expect(player.queue.currentIndex == 1)
    }
  }

  @Test func `A start beyond the end fails once, and resuming begins at the start`() async throws {
    try await withPlayer { player, engine in
      player.play([ScriptedEngine.media("ok-30")], from: .seconds(30))
      engine.take(.begin)
      engine.take(.duration)
      guard case .failed(let error) = player.status else {
        Issue.record("\(player.status)")
        return
      }
      #expect(error.code == .badRange && error.reason.contains("0:30"))
      player.resume()
      #expect(engine.current?.position == .zero)
      engine.take(.begin)
      engine.take(.duration)
      #expect(player.status == .loading)
    }
  }
}
