// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A player over an engine whose steps the test takes.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct PlayerTests {
  @Test
  func `A restored session has its queue and position, and loads nothing at first`() async throws {
    try await withPlayer { player, engine in
      player.play(["ok-30", "ok-40"].map(ScriptedEngine.media), startingAt: 1)
      player.repeatMode = .all
      player.rate = 1.5
      player.volume = 0.25
      player.isMuted = true
      for step in [ScriptedEngine.Step.begin, .duration, .ready] { engine.take(step) }
      for _ in 0..<5 { engine.take(.tick) }
      let written = try JSONEncoder().encode(player.session)

      try await withPlayer { restored, engine in
        restored.restore(try JSONDecoder().decode(PlayerSession.self, from: written))
        #expect(engine.current == nil)
        #expect(restored.status == .idle)
        #expect(restored.queue == player.queue)
        #expect(restored.position == .seconds(5))
        #expect(engine.rate == 1.5 && engine.volume == 0.25 && engine.isMuted)
        restored.resume()
        #expect(engine.current?.position == .seconds(5))
        #expect(engine.current?.item.media.title == "ok-40")
      }
    }
  }

  @Test func `An invalid position is restored as the start`() async throws {
    for position in [-Double.infinity, -3, 1e300, Double.nan] {
      try await withPlayer { player, _ in
        player.restore(
          PlayerSession(queue: PlayQueue(), position: position, rate: .nan, volume: 9))
        #expect(player.position == .zero)
        #expect(player.rate == 1 && player.volume == 1)
      }
    }
  }

  @Test func `The sleep timer pauses playback when it expires`() async throws {
    try await withPlayer { player, engine in
      player.play(ScriptedEngine.media("ok-300"))
      engine.take(.begin)
      engine.take(.ready)
      player.sleep(after: .milliseconds(5))
      #expect(player.sleepTimer != nil && player.status == .playing)
      try await eventually("it sleeps") { player.status == .paused }
      #expect(player.sleepTimer == nil && engine.isPaused)
    }
  }

  @Test func `A cancelled or replaced sleep timer pauses nothing`() async throws {
    try await withPlayer { player, engine in
      player.play(ScriptedEngine.media("ok-300"))
      engine.take(.begin)
      engine.take(.ready)
      player.sleep(after: .milliseconds(5))
      player.sleepTimer = nil
      player.sleep(after: .milliseconds(5))
      player.sleepTimer = .endOfItem
      // A timer that is set later and expires: the earlier ones would have expired by then.
      try await withPlayer { other, engine in
        other.play(ScriptedEngine.media("ok-300"))
        other.sleep(after: .milliseconds(30))
        try await eventually("the other one sleeps") { !other.wantsToPlay }
      }
      #expect(player.status == .playing && player.sleepTimer == .endOfItem)
      engine.take(.tick)
      engine.take(.end)
      #expect(player.status == .ended)
    }
  }

  @Test func `A sleep timer at the end of an item pauses at the next one`() async throws {
    try await withPlayer { player, engine in
      player.play(["ok-3", "ok-4"].map(ScriptedEngine.media))
      engine.take(.begin)
      engine.take(.ready)
      player.sleepTimer = .endOfItem
      #expect(engine.next == nil)
      engine.take(.tick)
      engine.take(.end)
      #expect(engine.current?.item.media.title == "ok-4" && engine.isPaused)
      #expect(!player.wantsToPlay && player.sleepTimer == nil)
    }
  }

  @Test
  func `Previous restarts the item after three seconds, and goes back before that`() async throws {
    try await withPlayer { player, engine in
      player.play(["ok-30", "ok-40"].map(ScriptedEngine.media), startingAt: 1)
      for step in [ScriptedEngine.Step.begin, .duration, .ready] { engine.take(step) }
      for _ in 0..<4 { engine.take(.tick) }
      player.previous()
      #expect(player.queue.currentIndex == 1 && engine.current?.seek?.target == .zero)
      player.previous()
      #expect(player.queue.currentIndex == 0)
    }
  }

  @Test func `A live stream is not sought, and its position is not stored`() async throws {
    try await withPlayer { player, engine in
      player.play(["ok-30", "live"].map(ScriptedEngine.media), startingAt: 1)
      // Before anything is known about the item.
      player.seek(to: .seconds(20))
      for step in [ScriptedEngine.Step.begin, .duration, .ready] { engine.take(step) }
      for _ in 0..<5 { engine.take(.tick) }
      player.seek(to: .seconds(60))
      player.seek(by: .seconds(-5))
      #expect(engine.current?.seek == nil && player.status == .playing)
      #expect(player.isLive && player.duration == nil && player.position == .seconds(5))
      #expect(player.session.position == 0)
      // After a restart, it plays what the station sends now.
      let before = engine.current?.item.id
      player.previous()
      #expect(engine.current?.item.id != before && engine.current?.position == .zero)
      #expect(player.queue.currentIndex == 1)
    }
  }

  @Test func `Releasing a player ends playback and its events`() async throws {
    try await withCache { cache, _ in
      let engine = ScriptedEngine()
      var player: Player? = Player(cache: cache, engine: engine)
      let events = try #require(player?.events())
      player?.play(ScriptedEngine.media("ok-30"))
      player?.sleep(after: .seconds(3600))
      weak let held = player
      player = nil
      #expect(held == nil)
      for await _ in events {}
      try await eventually("nothing plays") { engine.current == nil }
    }
  }

  @Test func `Events report each status and item in order`() async throws {
    try await withPlayer { player, engine in
      let events = player.events()
      player.play(["ok-3", "missing"].map(ScriptedEngine.media))
      for step in [ScriptedEngine.Step.begin, .ready, .tick, .end, .begin, .fail] {
        engine.take(step)
      }
      let status = player.status
      await player.close()
      var statuses: [PlaybackStatus] = []
      var moments: [String] = []
      for await event in events {
        switch event {
        case .status(let status): statuses.append(status)
        case .started(let item, _): moments.append("started \(item.media.title ?? "")")
        case .finished(let item): moments.append("finished \(item.media.title ?? "")")
        case .failed(let item, _): moments.append("failed \(item.media.title ?? "")")
        case .report(let item, _): moments.append("left \(item.media.title ?? "")")
        default: break
        }
      }
      #expect(statuses.contains(status))
      #expect(
        statuses == [
          .loading, .playing, .loading,
          .failed(ScriptedEngine.error(of: ScriptedEngine.media("missing"))), .idle,
        ])
      #expect(
        moments == ["started ok-3", "finished ok-3", "left ok-3", "failed missing", "left missing"])
    }
  }

  // MARK: The player's own window

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
    }
  }

  // MARK: Pictures that are files

  private func withPictures(_ body: (Player, _ directory: URL) async throws -> Void) async throws {
    try await withDirectory { directory in
      try await withPlayer { player, _ in try await body(player, directory) }
    }
  }

  @Test func `A picture is read, up to 16 MiB`() async throws {
    try await withPictures { player, directory in
      let file = directory.appending(path: "cover.png")
      try Data([1, 2, 3]).write(to: file)
      #expect(try await player.artwork(at: file) == Data([1, 2, 3]))
      let handle = try FileHandle(forWritingTo: file)
      try handle.truncate(atOffset: 16 << 20)
      #expect(try await player.artwork(at: file).count == 16 << 20)
      try handle.truncate(atOffset: (16 << 20) + 1)
      try handle.close()
      let error = await #expect(throws: MediaCacheError.self) {
        _ = try await player.artwork(at: file)
      }
      #expect(error?.code == .badRange)
    }
  }

  @Test func `A pipe without a writer is refused`() async throws {
    try await withPictures { player, directory in
      let pipe = directory.appending(path: "cover.png")
      try #require(mkfifo(pipe.path(percentEncoded: false), 0o600) == 0)
      let error = await #expect(throws: MediaCacheError.self) {
        _ = try await player.artwork(at: pipe)
      }
      #expect(error?.code == .badURL)
    }
  }
}
