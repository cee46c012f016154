// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

/// Live streams that break off.
struct LiveStreamTests {
  private let lost = MediaCacheError(.unreachable, "It broke off.", remedy: "Wait.")

  /// Returns a machine that plays the first of these media, a live stream, until it breaks off, and
  /// loads it again.
  private func reloading(_ names: String...) throws -> (PlayerMachine, EngineItem.ID) {
    let media = try names.map { Media(try #require(URL(string: "https://h/\($0)"))) }
    var machine = PlayerMachine()
    _ = machine.handle(.play(media, startingAt: 0, from: .zero))
    let id = try #require(machine.engineItem)
    for event in [EngineEvent.began(id), .live(id), .ready(id, at: .zero)] {
      _ = machine.handle(event)
    }
    _ = machine.handle(.failed(id, lost))
    #expect(machine.state.status == .buffering(.network(lost)))
    _ = machine.handle(.retry)
    let again = try #require(machine.engineItem)
    #expect(again != id)
    _ = machine.handle(.began(again))
    return (machine, again)
  }

  @Test func `A live stream that broke off plays on as it arrives`() throws {
    var (machine, id) = try reloading("live.m3u8")
    for event in [EngineEvent.live(id), .duration(id, nil), .ready(id, at: .seconds(3))] {
      _ = machine.handle(event)
    }
    #expect(machine.state.status == .playing && machine.state.isLive)
  }

  @Test func `A broadcast that ended meanwhile is not played from its start`() throws {
    var (machine, id) = try reloading("live.m3u8")
    let actions = machine.handle(.duration(id, .seconds(3600)))
    #expect(machine.state.status == .ended && actions.contains(.stop))
    let item = try #require(machine.state.queue.items.first)
    #expect(actions.contains(.tell(.finished(item))))
  }

  @Test func `A stream without known playlists is joined again three times in succession`() {
    var breaks = LiveBreaks()
    func joins(_ played: Duration) -> Bool {
      guard breaks.mayGoOn(changes: nil, played: played) else { return false }
      breaks.note(changes: nil, played: played)
      return true
    }
    #expect([6, 6, 6, 6].map { joins(.seconds($0)) } == [true, true, true, false])
    // It went on.
    #expect([90, 6, 6, 6, 6].map { joins(.seconds($0)) } == [true, true, true, true, false])
  }

  @Test func `A stream is joined again as long as its playlists change`() {
    var breaks = LiveBreaks()
    for changes in [0, 1, 5] {
      #expect(breaks.mayGoOn(changes: changes, played: .seconds(6)))
      breaks.note(changes: changes, played: .seconds(6))
    }
    #expect(!breaks.mayGoOn(changes: 5, played: .seconds(600)))
  }

  @Test func `After a broadcast that ended meanwhile, the next item plays`() throws {
    var (machine, id) = try reloading("live.m3u8", "song.flac")
    _ = machine.handle(.duration(id, .seconds(3600)))
    #expect(machine.state.queue.currentIndex == 1 && machine.state.status == .loading)
  }
}
