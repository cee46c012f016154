// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// An item whose resource becomes another version again and again.
@MainActor
@Suite(.timeLimit(.minutes(1)))
struct ChangingItemTests {
  @Test func `An item whose resource keeps changing is loaded again, and then fails`() async throws
  {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "refrain-changing-\(UUID().uuidString)", directoryHint: .isDirectory)
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try MediaCache(directory: directory)
    let engine = ScriptedEngine()
    let player = Player(cache: cache, engine: engine)
    player.play([ScriptedEngine.media("changes")])
    var loads = 0
    while loads < 100 {
      engine.take(.begin)
      engine.take(.ready)
      engine.take(.fail)
      guard case .absent = player.stage else { break }
      loads += 1
      player.send(.retry)
    }
    #expect(loads == 8)
    guard case .failed(let error) = player.status else {
      Issue.record("\(player.status)")
      return
    }
    #expect(error.code == .resourceChanged)
    // Played again, it is tried as often.
    player.resume()
    engine.take(.begin)
    engine.take(.ready)
    engine.take(.fail)
    #expect(player.loadsAgain(after: error))
    await cache.close()
  }
}
