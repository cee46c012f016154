// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

/// Items that are a part of their resource, as the player and its engine see them.
struct PartTests {
  private let album = URL(filePath: "/album.flac")

  private func track(_ start: Int, _ end: Int?) -> Media {
    Media(album, part: Media.Part(start: .seconds(start), end: end.map { .seconds($0) }))
  }

  /// A machine that plays the media, and the engine's item.
  private func playing(
    _ media: [Media], from position: Duration = .zero, endsParts: Bool = false
  ) throws -> (PlayerMachine, [PlayerAction], EngineItem.ID) {
    var machine = PlayerMachine()
    machine.endsParts = endsParts
    let actions = machine.handle(.play(media, startingAt: 0, from: position))
    return (machine, actions, try #require(machine.engineItem))
  }

  private func loads(_ actions: [PlayerAction]) -> [Duration] {
    actions.compactMap { if case .load(_, let place, _) = $0 { place } else { nil } }
  }

  @Test func `Positions count from the start of the part`() throws {
    var (machine, actions, id) = try playing([track(60, 90)], from: .seconds(5))
    #expect(loads(actions) == [.seconds(65)])
    _ = machine.handle(EngineEvent.duration(id, .seconds(200)))
    #expect(machine.state.duration == .seconds(30))
    _ = machine.handle(EngineEvent.ready(id, at: .seconds(65)))
    #expect(machine.state.position == .seconds(5))
    _ = machine.handle(EngineEvent.buffered(id, [.seconds(50)..<(.seconds(100))]))
    #expect(machine.state.bufferedRanges == [.zero..<(.seconds(30))])
    let seeks = machine.handle(.seek(.seconds(10))).compactMap {
      if case .seek(let place, _) = $0 { place } else { nil as Duration? }
    }
    #expect(seeks == [.seconds(70)])
    _ = machine.handle(EngineEvent.seekCompleted(id, serial: 1, at: .seconds(70)))
    #expect(machine.state.position == .seconds(10))
    _ = machine.handle(EngineEvent.position(id, .seconds(72)))
    #expect(machine.state.position == .seconds(12) && machine.status == .playing)
  }

  @Test func `The stored part of an item is that of its part of the resource`() throws {
    var (machine, _, id) = try playing([track(60, 90)])
    _ = machine.handle(EngineEvent.duration(id, .seconds(200)))
    machine.note(
      progress: CacheProgress(length: 2000, spans: RangeSet([0..<700, 850..<2000])),
      fetching: RangeSet([700..<720]), streamTitle: nil)
    #expect(
      machine.state.cachedRanges == [.zero..<(.seconds(10)), .seconds(25)..<(.seconds(30))])
    #expect(machine.state.fetchingRanges == [.seconds(10)..<(.seconds(12))])
  }

  @Test func `The last part lasts to the end of the resource`() throws {
    var (machine, _, id) = try playing([track(60, nil)])
    _ = machine.handle(EngineEvent.duration(id, .seconds(200)))
    #expect(machine.state.duration == .seconds(140))
  }

  @Test func `A part beyond the end of its resource fails`() throws {
    let silence = MediaCacheError(.invalidResponse, "It has no sound.", remedy: "Look.")
    for end in [
      { EngineEvent.ended($0, followedBy: nil) }, { EngineEvent.failed($0, silence) },
    ] as [(EngineItem.ID) -> EngineEvent] {
      var (machine, _, id) = try playing([track(60, 90)])
      _ = machine.handle(EngineEvent.duration(id, .seconds(50)))
      #expect(machine.status == .loading)
      _ = machine.handle(end(id))
      guard case .failed(let error) = machine.status else {
        Issue.record("\(machine.status)")
        return
      }
      #expect(error.code == .badRange)
      #expect(error.reason.contains("no part from 1:00 on: it lasts 0:50."))
    }
  }

  @Test func `An estimated duration of the resource does not end a part beyond it`() throws {
    var (machine, _, id) = try playing([track(60, 90)], from: .seconds(5))
    _ = machine.handle(EngineEvent.duration(id, .seconds(29)))
    #expect(machine.state.duration == .seconds(30) && machine.status == .loading)
    _ = machine.handle(EngineEvent.ready(id, at: .seconds(65)))
    #expect(machine.status == .playing && machine.state.position == .seconds(5))
    _ = machine.handle(EngineEvent.ended(id, followedBy: nil))
    #expect(machine.status == .ended)
    (machine, _, id) = try playing([track(60, nil)])
    _ = machine.handle(EngineEvent.duration(id, .seconds(29)))
    #expect(machine.state.duration == nil && machine.status == .loading)
  }

  @Test func `A failure to fetch a part is not one of its place`() throws {
    var (machine, _, id) = try playing([track(60, 90)])
    _ = machine.handle(EngineEvent.duration(id, .seconds(29)))
    let error = MediaCacheError(.unreachable, "It is far away.", remedy: "Wait.")
    _ = machine.handle(EngineEvent.failed(id, error))
    #expect(machine.status == .failed(error))
  }

  @Test func `The stored part of a stream is that of its part`() throws {
    var (machine, _, id) = try playing([track(60, 90)])
    _ = machine.handle(EngineEvent.duration(id, .seconds(200)))
    machine.note(
      StreamProgress(
        duration: .seconds(200),
        cachedRanges: [.zero..<(.seconds(70)), .seconds(80)..<(.seconds(99))],
        fetchingRanges: [.seconds(70)..<(.seconds(74)), .seconds(100)..<(.seconds(110))]))
    #expect(machine.state.streamProgress?.duration == .seconds(30))
    #expect(machine.state.cachedRanges == [.zero..<(.seconds(10)), .seconds(20)..<(.seconds(30))])
    #expect(machine.state.fetchingRanges == [.seconds(10)..<(.seconds(14))])
  }

  @Test func `An engine that plays parts receives the part that follows`() throws {
    let (machine, actions, _) = try playing([track(0, 60), track(60, nil)])
    #expect(machine.following?.item.media == track(60, nil))
    #expect(actions.contains { if case .follow(_?) = $0 { true } else { false } })
  }

  @Test func `The player ends the parts of an engine that does not`() throws {
    var (machine, first, id) = try playing([track(0, 60), track(60, 90)], endsParts: true)
    #expect(!first.contains { if case .follow = $0 { true } else { false } })
    _ = machine.handle(EngineEvent.ready(id, at: .zero))
    #expect(machine.handle(EngineEvent.position(id, .milliseconds(59_990))).isEmpty)
    let actions = machine.handle(EngineEvent.position(id, .milliseconds(60_010)))
    #expect(loads(actions) == [.seconds(60)])
    let next = try #require(machine.engineItem)
    _ = machine.handle(EngineEvent.ready(next, at: .seconds(60)))
    #expect(machine.state.position == .zero)
    _ = machine.handle(EngineEvent.position(next, .seconds(90)))
    #expect(machine.status == .ended)
  }
}
