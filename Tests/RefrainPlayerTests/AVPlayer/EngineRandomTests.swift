// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import Testing
  import TestSupport

  @testable import RefrainPlayer

  /// Random commands at random times.
  @MainActor @Suite(.timeLimit(.minutes(TestSeed.minutes(4)))) struct EngineRandomTests {
    /// Checks that every event may come where it comes.
    @MainActor private final class Judge {
      enum Stage { case none, begun, ready, over }
      private var stage = Stage.none
      private var current: EngineItem.ID?
      private var followedBy: EngineItem.ID?
      private(set) var complaints: [String] = []
      private(set) var counts: [String: Int] = [:]
      /// The serial of the last requested seek.
      var serial = 0
      private var lastSerial = 0
      private var isWaiting = false
      var isPaused = false

      /// Resets the state: everything before the load is over.
      func commandedToLoad() { (stage, current, followedBy) = (.none, nil, nil) }

      func take(_ event: EngineEvent) {
        let name = String("\(event)".prefix { $0 != "(" })
        counts[name, default: 0] += 1
        if let item = event.item, item != current {
          guard case .began = event else { return complain(event) }
        }
        switch event {
        case .began(let id):
          if let current, stage != .over { complaints.append("\(id) began over \(current)") }
          if let followedBy, followedBy != id {
            complaints.append("\(id) began, not \(followedBy)")
          }
          (current, stage, followedBy, isWaiting) = (id, .begun, nil, false)
        case .ready:
          if stage != .begun { complain(event) }
          stage = .ready
        case .duration, .live, .liveWindow, .streamTitle, .buffered, .metadata:
          if stage == .over { complain(event) }
        case .position: if stage != .ready { complain(event) }
        case .waiting(_, let reason):
          if stage != .ready || (reason != nil) == isWaiting { complain(event) }
          if reason != nil, isPaused { complain(event) }
          isWaiting = reason != nil
        case .seekCompleted(_, let told, _):
          if told <= lastSerial || told > serial { complain(event) }
          lastSerial = told
        case .ended(_, let next):
          if stage == .over { complain(event) }
          (stage, followedBy) = (.over, next)
        case .failed:
          if stage == .over { complain(event) }
          stage = .over
        case .audioUnavailable, .audioAvailable, .pausedBySystem: break
        // AVPlayer's engine has none of these.
        case .tracks, .video, .subtitleFailed, .displaced, .videoUnavailable, .window,
          .fullscreen, .requested:
          complain(event)
        }
      }

      private func complain(_ event: EngineEvent) {
        complaints.append("\(event) in \(stage) of \(String(describing: current))")
      }
    }

    @Test func `Events stay in order under random commands`() async throws {
      let seed = TestSeed.next()
      print("REFRAIN_SEED=\(seed) (AVPlayer engine, random)")
      try await AppleListening.with { listening in
        var random = SeededGenerator(seed: seed)
        let judge = Judge()
        listening.engine.report = { judge.take($0) }
        listening.origin.script("/2.wav", .nothingBeyond(2000))
        listening.origin.script("/3.wav", .on(.all, .status(404)))
        let engine = listening.engine
        for _ in 0..<(TestSeed.isSoak ? 100_000 : TestSeed.isSanitized ? 1_000 : 2_000) {
          let number = Int.random(in: 0..<4, using: &random)
          let time = Duration.milliseconds(Int.random(in: -1000...6000, using: &random))
          switch Int.random(in: 0..<100, using: &random) {
          case 0..<10:
            judge.commandedToLoad()
            judge.isPaused = Bool.random(using: &random)
            engine.load(
              listening.item("/\(number).wav", seconds: 5), at: max(time, .zero),
              isPaused: judge.isPaused)
          case 10..<25: engine.follow(with: listening.item("/\(number).wav", seconds: 5))
          case 25..<28: engine.follow(with: nil)
          case 28..<45:
            judge.serial += 1
            engine.seek(to: time, serial: judge.serial)
          case 45..<52:
            judge.isPaused = false
            engine.play()
          case 52..<58:
            engine.pause()
            judge.isPaused = true
          case 58..<61: engine.setRate(Double.random(in: 0.5...3, using: &random))
          case 61..<62:
            judge.commandedToLoad()
            engine.stop()
          case 62: listening.origin.release("/2.wav")
          case 63: listening.session.standInInterrupt()
          case 64..<67: listening.session.standInEndInterruption(shouldResume: true)
          case 67..<68: listening.session.standInResetMediaServices()
          case 68..<80: try await Task.sleep(for: .microseconds(500))
          default: await listening.pass(Double.random(in: 0...3, using: &random), step: 0.7)
          }
        }
        print("told: \(judge.counts.sorted { $0.key < $1.key })")
        #expect(judge.complaints == [])
        // After all of this, it still plays.
        engine.report = nil
        var events: [EngineEvent] = []
        engine.report = { events.append($0) }
        engine.setRate(1)
        let item = listening.item("/last.wav", seconds: 5)
        engine.load(item, at: .zero, isPaused: false)
        try await eventually("it ends") {
          await listening.pass(1)
          return events.last == .ended(item.id, followedBy: nil)
        }
      }
    }
  }
#endif
