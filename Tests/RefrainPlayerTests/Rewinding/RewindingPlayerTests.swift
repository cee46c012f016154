// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

/// Seeks in live sound of which a part is kept, as the player decides them.
struct RewindingPlayerTests {
  /// A machine that plays a station at the position 95 of 10 to 100 seconds.
  private func playing(_ window: LiveWindow?) throws -> (PlayerMachine, EngineItem.ID) {
    var machine = PlayerMachine()
    machine.rewind = 1 << 20
    let actions = machine.handle(
      .play([Media(URL(filePath: "/radio"))], startingAt: 0, from: .zero))
    let rewinds: [Int64?] = actions.compactMap {
      if case .load(let item, _, _) = $0 { item.rewind } else { nil }
    }
    #expect(rewinds == [1 << 20])
    let id = try #require(machine.engineItem)
    _ = machine.handle(EngineEvent.live(id))
    _ = machine.handle(EngineEvent.ready(id, at: .zero))
    if let window { _ = machine.handle(EngineEvent.liveWindow(id, window)) }
    _ = machine.handle(EngineEvent.position(id, .seconds(95)))
    return (machine, id)
  }

  private let window = LiveWindow(start: .seconds(10), end: .seconds(100))

  private func targets(_ actions: [PlayerAction]) -> [Duration] {
    actions.compactMap { if case .seek(let place, _) = $0 { place } else { nil } }
  }

  @Test(
    arguments: [
      (.seek(.seconds(50)), 50), (.seek(.zero), 10), (.seek(.seconds(1000)), 95),
      (.skip(.seconds(-60)), 35), (.skip(.seconds(-600)), 10), (.skip(.seconds(60)), 95),
      (.scrub(.seconds(20)), 20), (.seekToLive, 95), (.previous, 10),
    ] as [(PlayerCommand, Int)])
  func `A seek in live sound stays within its window`(
    _ command: PlayerCommand, _ target: Int
  ) throws {
    var (machine, id) = try playing(window)
    #expect(machine.state.behindLive == .seconds(5))
    #expect(targets(machine.handle(command)) == [.seconds(target)])
    _ = machine.handle(EngineEvent.seekCompleted(id, serial: 1, at: .seconds(target)))
    #expect(machine.state.behindLive == .seconds(100 - target))
    #expect(machine.state.isLive && machine.state.duration == nil)
  }

  @Test(
    arguments: [.seek(.zero), .skip(.seconds(-5)), .seekToLive, .scrub(.zero)] as [PlayerCommand])
  func `A live stream without a window refuses every seek`(_ command: PlayerCommand) throws {
    var (machine, _) = try playing(nil)
    let actions = machine.handle(command)
    #expect(targets(actions) == [])
    #expect(actions.contains { if case .tell(.seekRefused) = $0 { true } else { false } })
    #expect(machine.state.behindLive == nil)
  }

  // MARK: How far behind is shown

  /// Reports the newest sound and the position.
  private func play(
    _ machine: inout PlayerMachine, _ id: EngineItem.ID, to position: Int, of end: Int
  ) {
    _ = machine.handle(
      EngineEvent.liveWindow(id, LiveWindow(start: .seconds(10), end: .seconds(end))))
    _ = machine.handle(EngineEvent.position(id, .seconds(position)))
  }

  @Test func `Without a choice of the listener, a newer segment is no distance`() throws {
    var (machine, id) = try playing(window)
    for end in [100, 106, 109] {
      play(&machine, id, to: 95, of: end)
      #expect(machine.state.shownBehindLive == nil)
    }
    play(&machine, id, to: 95, of: 110)
    #expect(machine.state.shownBehindLive == .seconds(15))
  }

  @Test func `After a jump back, also a short distance is shown, until a jump to the present`()
    throws
  {
    var (machine, id) = try playing(window)
    _ = machine.handle(.skip(.seconds(-2)))
    #expect(machine.state.shownBehindLive == .seconds(7))
    _ = machine.handle(EngineEvent.seekCompleted(id, serial: 1, at: .seconds(93)))
    play(&machine, id, to: 94, of: 101)
    #expect(machine.state.shownBehindLive == .seconds(7))
    // Forward, but not to the present.
    play(&machine, id, to: 94, of: 108)
    _ = machine.handle(.skip(.seconds(3)))
    _ = machine.handle(EngineEvent.seekCompleted(id, serial: 2, at: .seconds(97)))
    #expect(machine.state.shownBehindLive == .seconds(11))
    _ = machine.handle(PlayerCommand.seekToLive)
    _ = machine.handle(EngineEvent.seekCompleted(id, serial: 3, at: .seconds(103)))
    #expect(machine.state.shownBehindLive == nil && !machine.state.hasLeftLive)
    play(&machine, id, to: 103, of: 114)
    #expect(machine.state.shownBehindLive == nil)
  }

  @Test func `A jump forward within the present does not leave it`() throws {
    var (machine, id) = try playing(window)
    play(&machine, id, to: 95, of: 108)
    _ = machine.handle(.skip(.seconds(2)))
    #expect(machine.state.shownBehindLive == nil && !machine.state.hasLeftLive)
  }

  @Test(arguments: [true, false])
  func `After a pause, also a short distance is shown`(_ isBySystem: Bool) throws {
    var (machine, id) = try playing(window)
    if isBySystem {
      _ = machine.handle(EngineEvent.pausedBySystem(true))
    } else {
      _ = machine.handle(PlayerCommand.pause)
    }
    #expect(machine.state.shownBehindLive == nil)
    play(&machine, id, to: 95, of: 103)
    _ = machine.handle(PlayerCommand.resume)
    play(&machine, id, to: 96, of: 104)
    #expect(machine.state.shownBehindLive == .seconds(8))
  }

  @Test func `A jump to the present while paused counts until newer sound has come`() throws {
    var (machine, id) = try playing(window)
    _ = machine.handle(PlayerCommand.pause)
    _ = machine.handle(PlayerCommand.seekToLive)
    _ = machine.handle(EngineEvent.seekCompleted(id, serial: 1, at: .seconds(95)))
    #expect(!machine.state.hasLeftLive)
    play(&machine, id, to: 95, of: 101)
    #expect(!machine.state.hasLeftLive)
    play(&machine, id, to: 95, of: 102)
    #expect(machine.state.shownBehindLive == .seconds(7))
  }

  @Test func `The title of sound within a window is the one that is heard`() throws {
    var (machine, id) = try playing(window)
    _ = machine.handle(EngineEvent.streamTitle(id, StreamTitle(title: "Heard")))
    machine.note(
      progress: nil, fetching: RangeSet(), streamTitle: StreamTitle(title: "Received", offset: 9))
    #expect(machine.state.metadata.streamTitle == "Heard")
  }

  @Test func `A title that was received is not shown before the one that is heard`() throws {
    var machine = PlayerMachine()
    machine.rewind = 1 << 20
    _ = machine.handle(.play([Media(URL(filePath: "/radio"))], startingAt: 0, from: .zero))
    let id = try #require(machine.engineItem)
    _ = machine.handle(EngineEvent.live(id))
    // A station sends much sound at once at the start.
    for (offset, title) in ["First", "Second"].enumerated() {
      machine.note(
        progress: nil, fetching: RangeSet(),
        streamTitle: StreamTitle(title: title, offset: Int64(offset)))
      #expect(machine.state.metadata.streamTitle == nil)
    }
    _ = machine.handle(EngineEvent.liveWindow(id, window))
    _ = machine.handle(EngineEvent.ready(id, at: .zero))
    #expect(machine.state.metadata.streamTitle == nil)
    _ = machine.handle(EngineEvent.streamTitle(id, StreamTitle(title: "First")))
    #expect(machine.state.metadata.streamTitle == "First")
  }

  @Test func `Of a station without a window, the title that was received is shown`() throws {
    for rewind in [nil, 1 << 20 as Int64] {
      var machine = PlayerMachine()
      machine.rewind = rewind
      _ = machine.handle(.play([Media(URL(filePath: "/radio"))], startingAt: 0, from: .zero))
      let id = try #require(machine.engineItem)
      _ = machine.handle(EngineEvent.live(id))
      let received = StreamTitle(title: "Received", offset: 9)
      machine.note(progress: nil, fetching: RangeSet(), streamTitle: received)
      // Until it is ready, it may get a window.
      #expect(machine.state.metadata.streamTitle == (rewind == nil ? "Received" : nil))
      _ = machine.handle(EngineEvent.ready(id, at: .zero))
      #expect(machine.state.metadata.streamTitle == "Received")
      machine.note(
        progress: nil, fetching: RangeSet(), streamTitle: StreamTitle(title: "Next", offset: 99))
      #expect(machine.state.metadata.streamTitle == "Next")
    }
  }

  @Test func `A station that is loaded again plays at the present, and has no window yet`() throws {
    var (machine, id) = try playing(window)
    _ = machine.handle(.skip(.seconds(-20)))
    #expect(machine.state.hasLeftLive)
    let lost = MediaCacheError(.unreachable, "The connection broke.")
    _ = machine.handle(EngineEvent.failed(id, lost))
    #expect(machine.state.status == .buffering(.network(lost)))
    let actions = machine.handle(PlayerCommand.retry)
    #expect(actions.contains { if case .load = $0 { true } else { false } })
    #expect(machine.state.isLive && machine.state.liveWindow == nil)
    #expect(!machine.state.hasLeftLive && machine.state.shownBehindLive == nil)
    #expect(machine.state.behindLive == nil)
    #expect(targets(machine.handle(PlayerCommand.seek(.seconds(50)))) == [])
  }

  @Test func `The next item has no window`() throws {
    var (machine, _) = try playing(window)
    _ = machine.handle(.play([Media(URL(filePath: "/song"))], startingAt: 0, from: .zero))
    #expect(machine.state.liveWindow == nil && !machine.state.isLive)
  }
}
