// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import TestSupport
import Testing

/// The contract of every engine with a player.
@MainActor
@Suite(.timeLimit(.minutes(TestSeed.minutes(3))))
struct EngineContractTests {
  @Test(arguments: EngineKind.usable)
  func `A loaded item begins, becomes ready, plays and ends`(_ kind: EngineKind) async throws {
    try await kind.with { rig in
      let id = rig.referee.load(rig.media(tenths: 10))
      try await rig.until("it ends") { rig.referee.isOver(id) }
      #expect(rig.referee.events.last == .ended(id, followedBy: nil))
      #expect(
        rig.referee.events.contains { if case .duration(id, .some) = $0 { true } else { false } })
      #expect(rig.referee.events.contains { if case .position(id, _) = $0 { true } else { false } })
    }
  }

  @Test(arguments: EngineKind.usable)
  func `A paused item stays at its position until it plays`(_ kind: EngineKind) async throws {
    try await kind.with { rig in
      let id = rig.referee.load(rig.media(tenths: 100), isPaused: true)
      try await rig.until("it is ready") { rig.referee.isReady(id) }
      for _ in 0..<20 { try await rig.pass() }
      #expect(!rig.referee.isOver(id))
      #expect((rig.referee.position(of: id) ?? .seconds(9)) < .seconds(0.2))
      rig.referee.play()
      try await rig.until("it plays") { rig.referee.position(of: id) ?? .zero > .zero }
      rig.referee.pause()
      // It may take a moment, and positions are reported some times a second.
      var (place, earlier): (Duration?, Duration?) = (rig.referee.position(of: id), nil)
      for _ in 0..<10 where place != earlier {
        for _ in 0..<200 { try await rig.pass() }
        (place, earlier) = (rig.referee.position(of: id), place)
      }
      for _ in 0..<20 { try await rig.pass() }
      #expect(rig.referee.position(of: id) == place && !rig.referee.isOver(id))
      // A pause by the listener is none by the system.
      #expect(!rig.referee.events.contains(.pausedBySystem(true)))
      rig.referee.seek(to: .seconds(9.5))
      rig.referee.play()
      try await rig.until("it ends") { rig.referee.isOver(id) }
    }
  }

  @Test(arguments: EngineKind.usable)
  func `An item begins at the given position, and no earlier one is reported`(
    _ kind: EngineKind
  ) async throws {
    try await kind.with { rig in
      let id = rig.referee.load(rig.media(tenths: 100), at: .seconds(7), isPaused: true)
      try await rig.until("it is ready") { rig.referee.isReady(id) }
      let position = try #require(rig.referee.position(of: id))
      #expect(abs(position / .seconds(1) - 7) < 0.05)
      rig.referee.play()
      try await rig.until("it plays") { rig.referee.position(of: id) ?? .zero > position }
      #expect(
        rig.referee.events.allSatisfy {
          if case .position(_, let place) = $0 { place > .seconds(6.95) } else { true }
        })
    }
  }

  @Test(arguments: EngineKind.usable)
  func `The item after one begun past its end begins at its own start`(
    _ kind: EngineKind
  ) async throws {
    try await kind.with { rig in
      let start = ContinuousClock.now
      let first = rig.referee.load(rig.media(tenths: 10), at: .seconds(50))
      let second = try #require(rig.referee.follow(with: rig.media(tenths: 100)))
      try await rig.until("the second is ready") { rig.referee.isReady(second) }
      #expect(rig.referee.isOver(first))
      // It may have played since it became ready.
      let position = try #require(rig.referee.position(of: second))
      #expect(position < ContinuousClock.now - start + .seconds(0.5))
      #expect(
        rig.referee.events.contains { if case .duration(first, .some) = $0 { true } else { false } }
          || kind == .scripted)
    }
  }

  @Test(arguments: EngineKind.usable)
  func `The next item begins by itself`(_ kind: EngineKind) async throws {
    try await kind.with { rig in
      let first = rig.referee.load(rig.media(tenths: 10))
      let second = try #require(rig.referee.follow(with: rig.media(tenths: 100)))
      try await rig.until("the second is ready") { rig.referee.isReady(second) }
      #expect(rig.referee.events.contains(.ended(first, followedBy: second)))
      let third = try #require(rig.referee.follow(with: rig.media(tenths: 10)))
      rig.referee.seek(to: .seconds(9.5))
      try await rig.until("the third is over") { rig.referee.isOver(third) }
      #expect(rig.referee.events.contains(.ended(second, followedBy: third)))
      #expect(rig.referee.events.last == .ended(third, followedBy: nil))
    }
  }

  @Test(arguments: EngineKind.usable)
  func `Only the next item that was set last follows`(_ kind: EngineKind) async throws {
    try await kind.with { rig in
      let first = rig.referee.load(rig.media(tenths: 10))
      rig.referee.follow(with: rig.missing)
      rig.referee.follow(with: nil)
      let last = try #require(rig.referee.follow(with: rig.media(tenths: 10)))
      try await rig.until("the last is over") { rig.referee.isOver(last) }
      #expect(rig.referee.events.contains(.ended(first, followedBy: last)))
    }
  }

  @Test(arguments: EngineKind.usable)
  func `A withdrawn next item does not follow`(_ kind: EngineKind) async throws {
    try await kind.with { rig in
      let first = rig.referee.load(rig.media(tenths: 10))
      try await rig.until("it is ready") { rig.referee.isReady(first) }
      rig.referee.follow(with: rig.media(tenths: 10))
      rig.referee.follow(with: nil)
      try await rig.until("it ends") { rig.referee.isOver(first) }
      #expect(rig.referee.events.last == .ended(first, followedBy: nil))
      let second = rig.referee.load(rig.media(tenths: 10))
      try await rig.until("the next one ends") { rig.referee.isOver(second) }
    }
  }

  @Test(arguments: EngineKind.usable)
  func `Loading an item ends all earlier ones`(_ kind: EngineKind) async throws {
    try await kind.with { rig in
      for round in 0..<10 {
        let first = rig.referee.load(rig.media(tenths: 10))
        rig.referee.follow(with: rig.media(tenths: 10))
        if round > 5 { try await rig.until("it is ready") { rig.referee.isReady(first) } }
        for _ in 0..<round { try await rig.pass() }
      }
      let last = rig.referee.load(rig.media(tenths: 10))
      try await rig.until("the last one ends") { rig.referee.isOver(last) }
      #expect(rig.referee.events.last == .ended(last, followedBy: nil))
    }
  }

  @Test(arguments: EngineKind.usable)
  func `An unplayable item fails with a remedy, and later items still play`(
    _ kind: EngineKind
  ) async throws {
    try await kind.with { rig in
      for media in [rig.missing, rig.noise] {
        let id = rig.referee.load(media)
        rig.referee.follow(with: rig.media(tenths: 10))
        try await rig.until("it fails") { rig.referee.isOver(id) }
        let error = try #require(rig.referee.failure(of: id))
        #expect(error.code == (media == rig.missing ? .status : .invalidResponse))
        #expect(error.status == (media == rig.missing ? 404 : nil))
        #expect(!error.remedy.isEmpty)
        #expect(
          error.reason.contains(media.url.lastPathComponent) || media == rig.missing
            || kind == .scripted)
      }
      let fine = rig.referee.load(rig.media(tenths: 10))
      try await rig.until("the next one ends") { rig.referee.isOver(fine) }
    }
  }

  @Test(arguments: EngineKind.usable, [false, true])
  func `Several seeks arrive at the target of the last one`(
    _ kind: EngineKind, isPaused: Bool
  ) async throws {
    try await kind.with { rig in
      let id = rig.referee.load(rig.media(tenths: 100), isPaused: isPaused)
      // Also before anything is audible.
      rig.referee.seek(to: .seconds(2))
      let early = rig.referee.seek(to: .seconds(3))
      try await rig.until("it arrives") { rig.referee.arrival(of: id)?.serial == early }
      #expect(abs((rig.referee.arrival(of: id)?.position ?? .zero) / .seconds(1) - 3) < 0.05)
      for target in [8.0, 1.25, -5, 5] {
        rig.referee.seek(to: .seconds(9))
        let last = rig.referee.seek(to: .seconds(target))
        try await rig.until("it arrives at \(target)") {
          rig.referee.arrival(of: id)?.serial == last
        }
        let place = try #require(rig.referee.arrival(of: id)?.position)
        #expect(abs(place / .seconds(1) - max(0, target)) < 0.05)
      }
      #expect(!rig.referee.isOver(id))
      guard isPaused else { return }
      for _ in 0..<20 { try await rig.pass() }
      let place = try #require(rig.referee.position(of: id))
      #expect(abs(place / .seconds(1) - 5) < 0.05)
    }
  }

  @Test(arguments: EngineKind.usable, [false, true])
  func `A seek past the end ends the item`(_ kind: EngineKind, isPaused: Bool) async throws {
    try await kind.with { rig in
      let id = rig.referee.load(rig.media(tenths: 10), isPaused: isPaused)
      let next = try #require(rig.referee.follow(with: rig.media(tenths: 10)))
      try await rig.until("it is ready") { rig.referee.isReady(id) }
      rig.referee.seek(to: .seconds(50))
      try await rig.until("it ends") { rig.referee.isOver(id) }
      #expect(rig.referee.events.contains(.ended(id, followedBy: next)))
      try await rig.until("what follows is ready") { rig.referee.isReady(next) }
      for _ in 0..<20 { try await rig.pass() }
      let place = try #require(rig.referee.position(of: next))
      #expect(!isPaused || place < .seconds(0.2))
    }
  }

  @Test(arguments: EngineKind.usable)
  func `A stopped engine reports no events and can play another item`(
    _ kind: EngineKind
  ) async throws {
    try await kind.with { rig in
      for wait in [false, true] {
        let id = rig.referee.load(rig.media(tenths: 10))
        if wait { try await rig.until("it is ready") { rig.referee.isReady(id) } }
        rig.referee.stop()
        let count = rig.referee.events.count
        for _ in 0..<10 { try await rig.pass() }
        #expect(rig.referee.events.count == count)
      }
      let another = rig.referee.load(rig.media(tenths: 10))
      try await rig.until("another ends") { rig.referee.isOver(another) }
    }
  }

  @Test(arguments: EngineKind.usable)
  func `Every command is accepted in every state`(_ kind: EngineKind) async throws {
    let commands: [@MainActor (EngineReferee) -> Void] = [
      { $0.play() }, { $0.pause() }, { $0.seek(to: .seconds(1)) }, { $0.seek(to: .seconds(-1)) },
      { $0.engine.setRate(2) }, { $0.engine.setRate(99) },
      { $0.engine.setVolume(0.5, isMuted: true) },
      { $0.engine.setVolume(-1, isMuted: false) }, { $0.follow(with: nil) }, { $0.stop() },
    ]
    for command in commands {
      try await kind.with { rig in
        // Nothing was loaded.
        command(rig.referee)
        // Being loaded.
        rig.referee.load(rig.media(tenths: 10))
        command(rig.referee)
        // Ready.
        let ready = rig.referee.load(rig.media(tenths: 10))
        try await rig.until("it is ready") { rig.referee.isReady(ready) }
        command(rig.referee)
        // Over.
        let short = rig.referee.load(rig.media(tenths: 2))
        try await rig.until("it ends") { rig.referee.isOver(short) }
        command(rig.referee)
        // Failed.
        let missing = rig.referee.load(rig.missing)
        try await rig.until("it fails") { rig.referee.isOver(missing) }
        command(rig.referee)
        let last = rig.referee.load(rig.media(tenths: 2))
        try await rig.until("the last one ends") { rig.referee.isOver(last) }
        await rig.referee.close()
        command(rig.referee)
      }
    }
  }

  @Test(arguments: EngineKind.usable)
  func `Random commands and disturbances never violate the engine's contract`(
    _ kind: EngineKind
  ) async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let (lives, commands) = kind.lives
    try await kind.with { rig in
      for life in 0..<(TestSeed.isSoak ? lives * 20 : lives) {
        for _ in 0..<Int.random(in: 1...commands, using: &random) {
          step(rig, &random)
          await rig.disturb(&random)
          for _ in 0..<Int.random(in: 0...4, using: &random) { try await rig.pass() }
        }
        // This one plays, whatever came before.
        let last = rig.referee.load(rig.media(tenths: 2))
        rig.referee.engine.setRate(1)
        try await rig.until("life \(life) of seed \(seed) ends") { rig.referee.isOver(last) }
        guard rig.referee.violations.isEmpty else {
          Issue.record("life \(life) of seed \(seed)")
          break
        }
      }
    }
  }

  private func step(_ rig: any EngineRig, _ random: inout SeededGenerator) {
    let referee = rig.referee
    let media = [
      rig.media(tenths: 2), rig.media(tenths: 5), rig.media(tenths: 100), rig.missing, rig.noise,
      rig.held ?? rig.missing,
    ]
    switch Int.random(in: 0..<14, using: &random) {
    case 0...2:
      referee.load(
        media.randomElement(using: &random) ?? media[0],
        at: .seconds(Int.random(in: 0...1, using: &random)),
        isPaused: Bool.random(using: &random))
    case 3, 4: referee.follow(with: media.randomElement(using: &random) ?? media[0])
    case 5: referee.follow(with: nil)
    case 6, 7: referee.play()
    case 8: referee.pause()
    case 9, 10: referee.seek(to: .seconds(Double.random(in: -1...12, using: &random)))
    case 11: referee.engine.setRate(Double.random(in: 0.3...4, using: &random))
    case 12:
      referee.engine.setVolume(
        Double.random(in: -0.5...1.5, using: &random), isMuted: Bool.random(using: &random))
    default: referee.stop()
    }
  }
}
