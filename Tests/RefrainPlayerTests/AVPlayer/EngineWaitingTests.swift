// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import Testing
  import TestSupport

  @testable import RefrainPlayer

  @MainActor @Suite(.timeLimit(.minutes(2))) struct EngineWaitingTests {
    /// Plays up to the end of the available bytes.
    private func stalled(_ listening: AppleListening) async throws -> EngineItem {
      let item = listening.item(seconds: 200)
      listening.origin.script("/a.wav", .nothingBeyond(100_044))
      listening.engine.load(item, at: .zero, isPaused: false)
      try await listening.waitForReady(item)
      try await eventually("what comes has come") {
        listening.engine.player.currentItem?.loadedTimeRanges.last?.timeRangeValue.end.seconds
          == 100
      }
      await listening.settle()
      listening.forget()
      await listening.pass(110, step: 10)
      return item
    }

    @Test func `Playback waits for missing bytes and resumes when they arrive`() async throws {
      try await AppleListening.with { listening in
        let item = try await stalled(listening)
        #expect(listening.events.filter { !$0.isOfMany } == [.waiting(item.id, .bytes)])
        #expect(listening.positions.last == .seconds(100))
        listening.origin.script("/a.wav", FaultScript())
        listening.origin.release("/a.wav")
        try await listening.wait("goes on") { $0 == .waiting(item.id, nil) }
        try await listening.loaded()
        await listening.pass(101, step: 10)
        #expect(
          listening.events.filter { !$0.isOfMany } == [
            .waiting(item.id, .bytes), .waiting(item.id, nil), .ended(item.id, followedBy: nil),
          ])
      }
    }

    @Test func `A paused item does not report waiting`() async throws {
      try await AppleListening.with { listening in
        let item = try await stalled(listening)
        listening.engine.pause()
        await listening.settle()
        #expect(
          listening.events.filter { !$0.isOfMany } == [
            .waiting(item.id, .bytes), .waiting(item.id, nil),
          ])
        listening.forget()
        await listening.pass(2)
        #expect(listening.events.filter { !$0.isOfMany }.isEmpty)
        listening.engine.play()
        await listening.pass(1)
        #expect(listening.events.filter { !$0.isOfMany } == [.waiting(item.id, .bytes)])
        listening.origin.release("/a.wav")
      }
    }

    @Test func `A seek to loaded bytes ends the waiting`() async throws {
      try await AppleListening.with { listening in
        let item = try await stalled(listening)
        listening.engine.seek(to: .seconds(50), serial: 1)
        await listening.pass(1)
        #expect(
          listening.events.filter { !$0.isOfMany } == [
            .waiting(item.id, .bytes), .waiting(item.id, nil),
            .seekCompleted(item.id, serial: 1, at: .seconds(50)),
          ])
        #expect(listening.positions.last.map { $0 > .seconds(50) } == true)
        listening.origin.release("/a.wav")
      }
    }

    @Test func `No waiting is reported before the item is ready`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item(seconds: 10)
        listening.origin.script("/a.wav", .on(.all, .delay(nil)))
        listening.engine.load(item, at: .zero, isPaused: false)
        await listening.pass(3)
        #expect(listening.events == [.began(item.id)])
        listening.origin.script("/a.wav", FaultScript())
        listening.origin.release("/a.wav")
        try await listening.waitForReady(item)
        #expect(!listening.events.contains { if case .waiting = $0 { true } else { false } })
      }
    }
  }
#endif
