// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// Items that end or fail, and what plays then.
@MainActor
@Suite(.timeLimit(.minutes(1)))
struct ItemEndTests {
  /// Has the engine fail to begin each of so many items.
  private func fail(_ count: Int, _ engine: ScriptedEngine) {
    for _ in 0..<count {
      engine.take(.begin)
      engine.take(.fail)
    }
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
      fail(3, engine)
      #expect(player.queue.currentIndex == 3 && player.status == .loading)
      // The same failure of one item is one of the others, too, if that is repeated.
      player.play(["missing", "ok-30", "ok-40"].map(ScriptedEngine.media))
      player.repeatMode = .one
      fail(2, engine)
      _ = try #require(player.failure)
    }
  }

  @Test func `The same failure of two items that is one of the network ends the queue`()
    async throws
  {
    try await withPlayer { player, engine in
      player.play(["gone", "gone", "ok-30"].map(ScriptedEngine.media))
      fail(2, engine)
      _ = try #require(player.failure)
      #expect(player.queue.currentIndex == 1)
    }
  }

  @Test func `A start beyond the end fails once, and resuming begins at the start`() async throws {
    try await withPlayer { player, engine in
      player.play([ScriptedEngine.media("ok-30")], from: .seconds(30))
      engine.take(.begin)
      engine.take(.duration)
      let error = try #require(player.failure)
      #expect(error.code == .badRange && error.reason.contains("0:30"))
      player.resume()
      #expect(engine.current?.position == .zero)
      engine.take(.begin)
      engine.take(.duration)
      #expect(player.status == .loading)
    }
  }

  @Test func `An item whose resource keeps changing is loaded again, and then fails`() async throws
  {
    try await withPlayer { player, engine in
      player.play([ScriptedEngine.media("changes")])
      @MainActor func change() {
        for step in [ScriptedEngine.Step.begin, .ready, .fail] { engine.take(step) }
      }
      var loads = 0
      while loads < 100 {
        change()
        guard case .absent = player.stage else { break }
        loads += 1
        player.send(.retry)
      }
      #expect(loads == 8)
      let error = try #require(player.failure)
      #expect(error.code == .resourceChanged)
      // Played again, it is tried as often.
      player.resume()
      change()
      #expect(player.loadsAgain(after: error))
    }
  }
}

extension Player {
  fileprivate var failure: MediaCacheError? {
    if case .failed(let error) = status { error } else { nil }
  }
}
