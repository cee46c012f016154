// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

/// Live streams that break off.
struct LiveStreamTests {
  private let lost = MediaCacheError(.unreachable, "It broke off.", remedy: "Wait.")
  private let start = Uptime.now

  /// Returns a machine that plays the first of these media, a live stream, until it breaks off, and
  /// loads it again.
  private func reloading(_ names: String...) throws -> (PlayerMachine, EngineItem.ID) {
    let media = try names.map { Media(try #require(URL(string: "https://h/\($0)"))) }
    var machine = PlayerMachine()
    let id = try machine.play(media) { [.live($0), .ready($0, at: .zero)] }
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
      let end = LiveBreaks.Break(.end, played: played, time: start)
      guard breaks.mayGoOn(after: end) else { return false }
      breaks.note(end)
      return true
    }
    #expect([6, 6, 6, 6].map { joins(.seconds($0)) } == [true, true, true, false])
    // It went on.
    #expect([90, 6, 6, 6, 6].map { joins(.seconds($0)) } == [true, true, true, true, false])
  }

  @Test func `A stream is joined again as long as its playlists change`() {
    var breaks = LiveBreaks()
    for changes in [0, 1, 5] {
      let end = LiveBreaks.Break(.end, changes: changes, played: .seconds(6), time: start)
      #expect(breaks.mayGoOn(after: end))
      breaks.note(end)
    }
    let last = LiveBreaks.Break(.end, changes: 5, played: .seconds(600), time: start)
    #expect(!breaks.mayGoOn(after: last))
  }

  @Test func `A failing stream is joined again until the origin shows that it stands still`() {
    var breaks = LiveBreaks()
    func joins(_ changes: Int, answeredAt answers: Double..., at seconds: Double) -> Bool {
      let failure = LiveBreaks.Break(
        .failure, changes: changes, target: .seconds(6), answers: answers.map { start + $0 },
        played: .seconds(1), time: start + seconds)
      guard breaks.mayGoOn(after: failure) else { return false }
      breaks.note(failure)
      return true
    }
    #expect(joins(3, answeredAt: 0, at: 0) && joins(3, answeredAt: 17, at: 19))
    // It went on.
    #expect(joins(4, answeredAt: 40, at: 40))
    // The network is lost, however long, then it is back.
    #expect(joins(4, answeredAt: 40, 12, at: 3600) && joins(4, at: 3700))
    #expect(joins(4, answeredAt: 12, 57, at: 3800))
    #expect(!joins(4, answeredAt: 12, 59, at: 3900))
  }

  @Test func `A stream without known playlists that cannot be joined is tried on and on`() {
    var breaks = LiveBreaks()
    func joins(_ played: Duration?) -> Bool {
      let failure = LiveBreaks.Break(.failure, played: played, time: start)
      guard breaks.mayGoOn(after: failure) else { return false }
      breaks.note(failure)
      return true
    }
    #expect((0..<10).allSatisfy { _ in joins(nil) })
    // An unstable network.
    #expect((0..<10).allSatisfy { _ in joins(.seconds(31)) })
    // Each of these plays the last segments.
    #expect([6, 6, 6, 6].map { joins(.seconds($0)) } == [true, true, true, false])
  }

  @Test func `After a broadcast that ended meanwhile, the next item plays`() throws {
    var (machine, id) = try reloading("live.m3u8", "song.flac")
    _ = machine.handle(.duration(id, .seconds(3600)))
    #expect(machine.state.queue.currentIndex == 1 && machine.state.status == .loading)
  }
}
