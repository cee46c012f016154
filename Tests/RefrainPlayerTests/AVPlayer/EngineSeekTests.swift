// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import Testing
  import TestSupport

  @testable import RefrainPlayer

  @MainActor @Suite(.timeLimit(.minutes(2))) struct EngineSeekTests {
    private func isSought(_ event: EngineEvent, _ serial: Int) -> Bool {
      if case .seekCompleted(_, serial, _) = event { true } else { false }
    }

    @Test func `A seek is exact and reported once`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item(seconds: 100)
        try await listening.start(item)
        await listening.pass(1)
        listening.forget()
        let target = Duration.microseconds(42_123_456)
        listening.engine.seek(to: target, serial: 1)
        try await listening.wait("sought") { isSought($0, 1) }
        await listening.settle()
        #expect(
          listening.events.filter { !$0.isOfMany } == [
            .seekCompleted(item.id, serial: 1, at: target)
          ])
        await listening.pass(1)
        #expect((listening.positions.first ?? .zero) > target)
      }
    }

    @Test func `A seek before the item is ready sets its start position`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item(seconds: 100)
        listening.engine.load(item, at: .seconds(10), isPaused: false)
        listening.engine.seek(to: .seconds(20), serial: 1)
        listening.engine.seek(to: .seconds(30), serial: 2)
        try await listening.waitForReady(item)
        #expect(listening.events.contains(.seekCompleted(item.id, serial: 2, at: .seconds(30))))
        #expect(listening.events.contains(.ready(item.id, at: .seconds(30))))
        #expect(!listening.events.contains { isSought($0, 1) })
      }
    }

    @Test func `Many seeks are reported in order, ending with the latest`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item(seconds: 1000)
        try await listening.start(item)
        for serial in 1...200 {
          listening.engine.seek(to: .seconds(serial * 4), serial: serial)
          if serial % 3 == 0 { await listening.settle() }
        }
        try await listening.wait("sought") { isSought($0, 200) }
        await listening.settle()
        let serials = listening.events.compactMap { event in
          if case .seekCompleted(_, let serial, _) = event { serial } else { nil as Int? }
        }
        #expect(zip(serials, serials.dropFirst()).allSatisfy { $0 < $1 } && serials.last == 200)
        await listening.pass(1)
        #expect(listening.positions.last == .seconds(801))
      }
    }

    @Test
    func `A seek to missing bytes stays pending, and a later seek overtakes it`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item(seconds: 1000)
        listening.origin.script("/a.wav", .nothingBeyond(500_000))
        listening.engine.load(item, at: .zero, isPaused: false)
        try await listening.waitForReady(item)
        listening.engine.seek(to: .seconds(900), serial: 1)
        await listening.pass(2)
        #expect(!listening.events.contains { isSought($0, 1) })
        listening.forget()
        await listening.pass(5)
        #expect(listening.positions.isEmpty, "no position is told while it is on its way")
        // Another seek overtakes this one.
        listening.engine.seek(to: .seconds(100), serial: 2)
        try await listening.wait("sought") { isSought($0, 2) }
        #expect(!listening.events.contains { isSought($0, 1) })
        await listening.pass(1)
        #expect(listening.positions.last == .seconds(101))
        listening.origin.release("/a.wav")
      }
    }

    @Test(arguments: [false, true]) func `Seeking past the end ends the item`(isPaused: Bool)
      async throws
    {
      try await AppleListening.with { listening in
        let (one, two) = (
          listening.item("/a.wav", seconds: 10), listening.item("/b.wav", seconds: 20)
        )
        try await listening.start(one, isPaused: isPaused)
        listening.engine.follow(with: two)
        try await listening.loaded()
        listening.forget()
        listening.engine.seek(to: .seconds(11), serial: 1)
        try await listening.waitForReady(two)
        #expect(
          listening.events.filter { !$0.isOfMany } == [
            .seekCompleted(one.id, serial: 1, at: .seconds(10)), .ended(one.id, followedBy: two.id),
            .began(two.id), .duration(two.id, .seconds(20)), .ready(two.id, at: .zero),
          ])
        await listening.pass(3)
        #expect(listening.positions.last == (isPaused ? nil : .seconds(3)))
        listening.engine.seek(to: .seconds(20), serial: 2)
        try await listening.wait("ended") { $0 == .ended(two.id, followedBy: nil) }
      }
    }

    @Test func `A seek before the start goes to the start`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item()
        try await listening.start(item)
        await listening.pass(3)
        listening.engine.seek(to: .seconds(-5), serial: 1)
        try await listening.wait("sought") { $0 == .seekCompleted(item.id, serial: 1, at: .zero) }
      }
    }

    @Test func `A paused item stays paused after a seek`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item()
        try await listening.start(item, isPaused: true)
        listening.engine.seek(to: .seconds(5), serial: 1)
        try await listening.wait("sought") {
          $0 == .seekCompleted(item.id, serial: 1, at: .seconds(5))
        }
        await listening.pass(2)
        #expect(listening.engine.player.currentTime().seconds == 5)
      }
    }
  }

  @Suite struct SeekRequestsTests {
    @Test func `The completion of an earlier seek is ignored`() {
      var seeks = SeekRequests()
      seeks.ask(.seconds(1), serial: 1)
      #expect(seeks.begin()?.serial == 1)
      let first = seeks.number
      seeks.ask(.seconds(2), serial: 2)
      #expect(seeks.begin()?.serial == 2)
      seeks.end(first)
      #expect(seeks.takeOver() == nil && seeks.isPending)
      seeks.end(seeks.number)
      #expect(seeks.takeOver() == 2 && !seeks.isPending)
      #expect(seeks.takeOver() == nil)
    }

    @Test func `A newer seek request suppresses the report of an earlier one`() {
      var seeks = SeekRequests()
      seeks.ask(.seconds(1), serial: 1)
      _ = seeks.begin()
      seeks.end(seeks.number)
      seeks.ask(.seconds(2), serial: 2)
      #expect(seeks.takeOver() == nil)
    }

    @Test func `A start at the beginning needs no seek`() {
      #expect(!SeekRequests().isPending)
      #expect(SeekRequests(start: .seconds(1)).isPending)
    }
  }
#endif
