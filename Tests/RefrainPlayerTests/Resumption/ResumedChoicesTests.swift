// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// The volume, the tracks and the languages that a listener has chosen.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct ResumedChoicesTests: ResumingPlayerTest {
  @Test func `The volume set for a film is its own, and later items have the usual one`()
    async throws
  {
    try await withResumption { player, engine, _, _ in
      player.volume = 0.75
      player.play([film, song, other])
      begin(engine)
      engine.take(.tick)
      engine.take(.tick)
      player.volume = 0.25
      player.next()
      #expect(engine.volume == 0.25, "a listener's choice also holds afterwards")
      player.volume = 0.5
      player.previous()
      #expect(engine.volume == 0.25 && player.volume == 0.25)
      #expect(player.session.volume == 0.5, "a session keeps the usual one")
      player.next()
      #expect(engine.volume == 0.5 && player.volume == 0.5)
    }
  }

  @Test func `The tracks chosen for a film are selected again`() async throws {
    try await withResumption { player, engine, _, cache in
      player.play([film], from: .seconds(60))
      begin(engine)
      try reportTracks(engine)
      player.selectNext(.audio)
      player.select(nil, of: .subtitle)
      engine.take(.tick)
      await player.close()
      let found = await PlaybackPositions.open(for: cache)
      #expect(found.languages == TrackLanguages(audio: "de"))
      let (later, again) = self.player(cache, found)
      later.play([film])
      begin(again)
      try reportTracks(again)
      #expect(later.state.tracks.selected == [.init(.audio, 2)])
      // The listener may choose otherwise: the choice is not made twice.
      later.selectNext(.audio)
      try reportTracks(again)
      #expect(later.state.tracks.selected(.audio)?.id.number == 1)
      await later.close()
    }
  }

  /// Two sound tracks in one language, of which no stored language says which.
  private func reportLikeTracks(_ engine: ScriptedEngine) throws {
    let tracks =
      [1, 2].map { MediaTrack(.init(.audio, $0), language: "en") } + [
        MediaTrack(.init(.subtitle, 1), language: "en")
      ]
    engine.report?(
      .tracks(
        try #require(engine.current).item.id,
        MediaTracks(tracks, selected: [.init(.audio, 1), .init(.subtitle, 1)])))
  }

  @Test func `A restored session selects the tracks of its current item, however short it is`()
    async throws
  {
    try await withResumption { player, engine, positions, cache in
      player.play([other, song], startingAt: 1)
      begin(engine)
      try reportLikeTracks(engine)
      player.selectNext(.audio)
      player.select(nil, of: .subtitle)
      engine.take(.tick)
      let written = try JSONEncoder().encode(player.session)
      await player.close()
      let session = try JSONDecoder().decode(PlayerSession.self, from: written)
      #expect(session.audio == .track(number: 2, language: "en") && session.subtitle == .off)
      let (later, again) = self.player(cache, positions)
      later.restore(session)
      #expect(later.session == session)
      later.resume()
      begin(again)
      try reportLikeTracks(again)
      #expect(later.state.tracks.selected == [.init(.audio, 2)])
      #expect(later.session.audio == session.audio)
      // They are those of that item alone.
      later.play([song])
      begin(again)
      try reportLikeTracks(again)
      #expect(later.state.tracks.selected(.audio)?.id.number == 1)
      #expect(later.session.audio == nil)
      await later.close()
    }
  }

  @Test func `An item that was stopped, or failed, has its tracks when it is played again`()
    async throws
  {
    try await withResumption { player, engine, _, _ in
      player.play([song])
      begin(engine)
      try reportLikeTracks(engine)
      player.selectNext(.audio)
      let chosen = TrackChoice.track(number: 2, language: "en")
      for ends in [
        { player.stop() },
        {
          guard let id = engine.current?.item.id else { return }
          engine.report?(.failed(id, MediaCacheError(.invalidResponse, "It is broken.")))
        },
      ] {
        ends()
        #expect(player.session.audio == chosen)
        player.resume()
        begin(engine)
        try reportLikeTracks(engine)
        #expect(player.state.tracks.selected(.audio)?.id.number == 2)
        #expect(player.session.audio == chosen)
      }
      // Another item has its own.
      player.stop()
      player.play([other])
      begin(engine)
      try reportLikeTracks(engine)
      #expect(player.state.tracks.selected(.audio)?.id.number == 1)
    }
  }

  @Test func `Another item than that of a restored session has its own tracks`() async throws {
    try await withResumption { player, engine, _, _ in
      var queue = PlayQueue()
      queue.replace(with: [song, song])
      let session = PlayerSession(queue: queue, audio: .track(number: 2, language: "en"))
      player.restore(session)
      player.next()
      begin(engine)
      try reportLikeTracks(engine)
      #expect(player.state.tracks.selected(.audio)?.id.number == 1)
      // The first one plays from its start, as chosen by the listener now.
      player.previous()
      begin(engine)
      try reportLikeTracks(engine)
      #expect(player.state.tracks.selected(.audio)?.id.number == 1)
    }
  }

  @Test func `Turning the subtitles off forgets their language, and a stored choice does not`()
    async throws
  {
    try await withResumption { player, engine, positions, _ in
      positions.remember(TrackLanguages(audio: "de", subtitle: "en"))
      player.play([film], from: .seconds(60))
      begin(engine)
      try reportTracks(engine)
      player.select(nil, of: .subtitle)
      #expect(positions.languages == TrackLanguages(audio: "de"))
      engine.take(.tick)
      player.stop()
      positions.remember(TrackLanguages(subtitle: "fr"))
      player.resume()
      begin(engine)
      try reportTracks(engine)
      #expect(player.state.tracks.selected(.subtitle) == nil)
      #expect(positions.languages == TrackLanguages(subtitle: "fr"))
    }
  }

  @Test func `Subtitles that were off are turned off before the engine selects any`() throws {
    var machine = PlayerMachine()
    var mark = PlaybackMark.at(600)
    mark.subtitle = .off
    machine.mark = { [mark] _ in mark }
    _ = machine.handle(.play([film], startingAt: 0, from: .zero))
    let item = try #require(machine.engineItem)
    let all = MediaTracks(tracks.all, selected: [.init(.audio, 1)])
    #expect(machine.handle(EngineEvent.tracks(item, all)).contains(.select(nil, .subtitle)))
  }

  @Test func `What was chosen for a film stays stored where it is not applied`() async throws {
    try await withPositions { cache, positions in
      var mark = PlaybackMark.at(600)
      mark.volume = 0.25
      mark.audio = .track(number: 2, language: "de")
      positions.keep(mark, for: film)
      let (player, engine) = player(cache, positions) {
        $0.resumption?.beginsWhereLeft = false
        $0.resumption?.restoresVolume = false
      }
      player.play([film])
      #expect(engine.current?.position == .zero && engine.volume == 1)
      begin(engine)
      try reportTracks(engine)
      #expect(player.state.tracks.selected(.audio)?.id.number == 2)
      for _ in 0..<3 { engine.take(.tick) }
      await player.close()
      let found = await PlaybackPositions.open(for: cache).mark(for: film)
      #expect(found?.position == .seconds(3))
      #expect(found?.volume == 0.25 && found?.audio == mark.audio)
    }
  }

  @Test func `A track is found by its number and language, or else by its language`() {
    let tracks = [("en", 1), ("de", 2), ("de", 3)].map {
      MediaTrack(.init(.audio, $0.1), language: $0.0)
    }
    func find(_ number: Int, _ language: String?) -> Int? {
      TrackChoice.track(number: number, language: language).track(among: tracks)?.id.number
    }
    #expect(find(3, "de") == 3)
    #expect(find(7, "de") == 2)
    #expect(find(1, "fr") == nil && find(1, nil) == nil)
    #expect(TrackChoice.off.track(among: tracks) == nil)
  }
}
