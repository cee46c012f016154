// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// A player that goes on where the listener left its media.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct ResumingPlayerTests: ResumingPlayerTest {
  @Test func `A film goes on where it was left, in the same and in the next player`() async throws {
    try await withResumption { player, engine, positions, cache in
      player.play([film, song], from: .seconds(100))
      begin(engine)
      for _ in 0..<5 { engine.take(.tick) }
      player.next()
      #expect(engine.current?.position == .zero)
      player.previous()
      #expect(engine.current?.position == .seconds(105) && player.position == .seconds(105))
      begin(engine)
      engine.take(.tick)
      await player.close()
      let (later, again) = self.player(cache, await PlaybackPositions.open(for: cache))
      later.play([film])
      #expect(again.current?.position == .seconds(106))
      // A requested position counts, and the start can be requested.
      later.play([film], from: .seconds(7))
      #expect(again.current?.position == .seconds(7))
      begin(again)
      later.seek(to: .zero)
      again.take(.arrive)
      await later.close()
      let (last, third) = self.player(cache, positions) {
        $0.resumption?.beginsWhereLeft = false
      }
      last.play([film])
      #expect(third.current?.position == .zero)
      await last.close()
    }
  }

  @Test func `An item to go on with does not follow without a gap from its start`() async throws {
    try await withResumption { player, engine, positions, _ in
      positions.keep(.at(600), for: film)
      player.play([song, film, song])
      begin(engine)
      #expect(engine.next == nil)
      engine.take(.tick)
      engine.take(.end)
      #expect(engine.current?.item.media == film && engine.current?.position == .seconds(600))
      #expect(engine.next?.media == song)
    }
  }

  @Test func `A film that was played to its end begins at its start again`() async throws {
    try await withResumption { player, engine, positions, cache in
      positions.keep(.at(3000), for: film)
      player.repeatMode = .one
      player.play([film])
      begin(engine)
      engine.take(.tick)
      engine.take(.end)
      #expect(engine.current?.item.media == film && engine.current?.position == .zero)
      #expect(positions.mark(for: film) == nil)
      await player.close()
      #expect(await PlaybackPositions.open(for: cache).mark(for: film) == nil)
    }
  }

  @Test func `A film that has become shorter begins at its start`() async throws {
    try await withResumption { player, engine, positions, _ in
      let shorter = ScriptedEngine.media("film-700")
      positions.keep(.at(3000), for: shorter)
      player.play([shorter, song])
      #expect(engine.current?.position == .seconds(3000))
      engine.take(.begin)
      engine.take(.duration)
      #expect(engine.current?.position == .zero && player.position == .zero)
      #expect(engine.next?.media == song, "the next item still follows without a gap")
      begin(engine)
      #expect(player.status == .playing)
    }
  }

  @Test func `Songs and live streams have no position`() async throws {
    try await withResumption { player, engine, positions, _ in
      for media in [song, ScriptedEngine.media("live")] {
        player.play([media])
        begin(engine)
        for _ in 0..<20 { engine.take(.tick) }
        player.pause()
        #expect(positions.mark(for: media) == nil)
      }
    }
  }

  @Test func `A film that is chosen again, or stopped, begins at its start`() async throws {
    try await withResumption { player, engine, positions, _ in
      positions.keep(.at(600), for: film)
      positions.keep(.at(700), for: other)
      player.play([film, other])
      begin(engine)
      let items = player.queue.items
      player.jump(to: items[1].id)
      #expect(engine.current?.position == .seconds(700))
      begin(engine)
      player.jump(to: items[1].id)
      #expect(engine.current?.item.media == other && engine.current?.position == .zero)
      player.jump(to: items[0].id)
      #expect(engine.current?.position == .seconds(600))
      begin(engine)
      player.stop()
      #expect(positions.mark(for: film)?.position == .seconds(600), "a later program goes on there")
      player.resume()
      #expect(engine.current?.item.media == film && engine.current?.position == .zero)
      player.stop()
      player.seek(to: .seconds(50))
      player.resume()
      #expect(engine.current?.position == .seconds(50))
    }
  }

  @Test func `Each of two calls that close a player waits until all is stored`() async throws {
    try await withCache { cache, directory in
      let positions = await PlaybackPositions.open(for: cache)
      let (player, engine) = player(cache, positions)
      player.play([film], from: .seconds(100))
      begin(engine)
      engine.take(.tick)
      for number in 0..<300 {
        positions.keep(.at(60), for: Media(URL(filePath: "/\(number)")), syncs: false)
      }
      let first = Task { await player.close() }
      let second = Task {
        await player.close()
        let folder = directory.appending(path: "cache/private").path(percentEncoded: false)
        return try FileManager.default.contentsOfDirectory(atPath: folder).count
      }
      let stored = try await second.value
      #expect(stored == 301)
      await first.value
    }
  }

  @Test func `A sound device that plays again ends the silence`() async throws {
    try await withResumption { player, engine, _, _ in
      player.play([song])
      begin(engine)
      for _ in 0..<2 {
        engine.report?(.audioUnavailable)
        #expect(player.isSilent)
        engine.report?(.audioAvailable)
        #expect(!player.isSilent)
      }
    }
  }

  @Test func `A player stores its queue as it changes`() async throws {
    try await withPositions { cache, positions in
      let saved = SavedSession(for: cache)
      let (player, engine) = player(cache, positions) { $0.savedSession = saved }
      player.play([song, film, other], startingAt: 1, from: .seconds(100))
      begin(engine)
      for _ in 0..<3 { engine.take(.tick) }
      player.isShuffled = true
      player.repeatMode = .all
      await saved.flush()
      let stored = try #require(try await saved.load())
      #expect(stored == player.session && stored.position == 103)
      player.next()
      await saved.flush()
      #expect(try await saved.load()?.queue == player.queue)
      let session = player.session
      await player.close()
      #expect(try await saved.load()?.queue == session.queue)
      let (later, again) = self.player(cache, positions)
      later.restore(try #require(try await saved.load()))
      later.resume()
      #expect(again.current?.item.media == session.queue.current?.media)
      await later.close()
    }
  }
}
