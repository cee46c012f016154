// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

struct MediaTracksTests {
  private func tracks(_ kind: MediaTrack.Kind, _ count: Int, selected: Int? = nil) -> MediaTracks {
    MediaTracks(
      (0..<count).map { MediaTrack(.init(kind, $0 + 1)) },
      selected: Set(selected.map { [MediaTrack.ID(kind, $0)] } ?? []))
  }

  @Test func `Sound begins again after the last track`() {
    #expect(tracks(.audio, 3, selected: 1).next(.audio)?.id.number == 2)
    #expect(tracks(.audio, 3, selected: 3).next(.audio)?.id.number == 1)
    #expect(tracks(.audio, 3).next(.audio)?.id.number == 1)
    #expect(tracks(.audio, 0).next(.audio) == nil)
  }

  @Test func `Subtitles turn off after the last track`() {
    #expect(tracks(.subtitle, 2).next(.subtitle)?.id.number == 1)
    #expect(tracks(.subtitle, 2, selected: 1).next(.subtitle)?.id.number == 2)
    #expect(tracks(.subtitle, 2, selected: 2).next(.subtitle) == nil)
  }

  @Test func `A cover is no video`() {
    let cover = MediaTrack(.init(.video, 1), isCover: true)
    #expect(!MediaTracks([cover]).hasVideo)
    #expect(MediaTracks([cover, MediaTrack(.init(.video, 2))]).hasVideo)
  }

  // MARK: In a player

  private let english = MediaTrack(.init(.audio, 1))
  private let german = MediaTrack(.init(.audio, 2))

  /// Returns a machine that plays an item with two sound tracks.
  private func playing() throws -> PlayerMachine {
    var machine = PlayerMachine()
    let url = try #require(URL(string: "http://h/film.mkv"))
    let tracks = MediaTracks([english, german], selected: [english.id])
    _ = try machine.play([Media(url)]) { [.ready($0, at: .zero), .tracks($0, tracks)] }
    return machine
  }

  @Test func `A selection is shown at once, and sent to the engine`() throws {
    var machine = try playing()
    #expect(
      machine.handle(.select(german.id, .audio))
        == [.select(german.id, .audio), .remember(TrackChoice(german), .audio)])
    #expect(machine.state.tracks.selected == [german.id])
    #expect(
      machine.handle(.select(nil, .subtitle))
        == [.select(nil, .subtitle), .remember(.off, .subtitle)])
    #expect(machine.state.tracks.selected == [german.id])
  }

  @Test func `A track that the item does not have is ignored`() throws {
    var machine = try playing()
    #expect(machine.handle(.select(.init(.audio, 3), .audio)) == [])
    #expect(machine.handle(.select(german.id, .subtitle)) == [])
    #expect(machine.state.tracks.selected == [english.id])
  }

  @Test func `An item that lost its network keeps the selection`() throws {
    var machine = try playing()
    _ = machine.handle(.select(german.id, .audio))
    let id = try #require(machine.engineItem)
    _ = machine.handle(.failed(id, .init(.unreachable, "It is gone.")))
    _ = machine.handle(.retry)
    let again = try #require(machine.engineItem)
    #expect(again != id)
    _ = machine.handle(.began(again))
    #expect(machine.handle(.ready(again, at: .zero)).contains(.select(german.id, .audio)))
  }

  @Test func `Another item begins with its own selection`() throws {
    var machine = try playing()
    _ = machine.handle(.select(german.id, .audio))
    let url = try #require(URL(string: "http://h/other.mkv"))
    _ = machine.handle(.play([Media(url)], startingAt: 0, from: .zero))
    #expect(machine.state.tracks == MediaTracks() && machine.state.video == nil)
    let id = try #require(machine.engineItem)
    let actions = machine.handle(.ready(id, at: .zero))
    #expect(!actions.contains(.select(german.id, .audio)))
  }

  @Test func `Requests by the engine's controller act on the player`() throws {
    var machine = try playing()
    #expect(machine.handle(EngineEvent.requested(.pause)) == [.pause])
    #expect(!machine.state.wantsToPlay)
    #expect(machine.handle(EngineEvent.requested(.resume)) == [.play])
    _ = machine.handle(EngineEvent.requested(.volume(0.25)))
    _ = machine.handle(EngineEvent.requested(.mute(true)))
    #expect(machine.state.volume == 0.25 && machine.state.isMuted)
  }

  @Test func `A track that the listener selected by the controller is a choice`() throws {
    var machine = try playing()
    let request = EngineEvent.requested(.select(german.id, .audio))
    #expect(machine.handle(request) == [.remember(TrackChoice(german), .audio)])
    #expect(machine.state.tracks.selected == [german.id])
    #expect(machine.choices.audio == TrackChoice(german))
    let id = try #require(machine.engineItem)
    _ = machine.handle(.displaced(id))
    let again = try #require(machine.engineItem)
    #expect(machine.handle(.ready(again, at: .zero)).contains(.select(german.id, .audio)))
  }

  @Test func `The controller's button to the next item does not end the queue`() throws {
    var machine = try playing()
    _ = machine.handle(.setRepeatMode(.one))
    let id = try #require(machine.engineItem)
    _ = machine.handle(.position(id, .seconds(7)))
    let actions = machine.handle(EngineEvent.requested(.next))
    let again = try #require(machine.engineItem)
    #expect(again != id)
    let loads = actions.contains { action in
      if case .load(let item, .seconds(7), false) = action { item.id == again } else { false }
    }
    #expect(loads)
    // The engine discards what follows with every load.
    #expect(actions.contains { if case .follow(.some) = $0 { true } else { false } })
  }

  @Test func `Subtitles of a media are stored with it, their headers, titles and languages`() throws
  {
    var media = Media(try #require(URL(string: "http://h/film.mkv")))
    let url = try #require(URL(string: "http://h/film.srt"))
    media.subtitles = [
      .init(url), .init(url, headers: ["A": "1", "B": "2"], title: "Signs", language: "de"),
    ]
    let stored = try JSONEncoder().encode(media)
    #expect(try JSONDecoder().decode(Media.self, from: stored) == media)
  }
}
