// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import Testing
  import TestSupport

  @testable import RefrainPlayer

  /// AVPlayer reports a stall, and a pause, in any order and on any thread: a stall ends by itself,
  /// and a pause stays one.
  @MainActor @Suite(.timeLimit(.minutes(TestSeed.minutes(3)))) struct EngineStallTests {
    typealias Report = StandInStall.Report

    /// Every order of every set of reports that includes the rate.
    nonisolated static let orders: [[Report]] = {
      var orders: [[Report]] = []
      func extend(_ order: [Report]) {
        if order.contains(.rate) { orders.append(order) }
        for report in Report.allCases where !order.contains(report) { extend(order + [report]) }
      }
      extend([])
      return orders
    }()

    /// The delays of reports of a property and of the rate's reason, in milliseconds.
    nonisolated static let lags: [(Int?, Int?)] = [
      (nil, nil), (nil, 30), (30, nil), (5, 40), (40, 5),
    ]

    /// Plays an item with bytes up to 100 s.
    private func playing(
      _ listening: AppleListening, script: FaultScript = .nothingBeyond(100_044)
    ) async throws -> EngineItem {
      let item = listening.item(seconds: 200)
      listening.origin.script("/a.wav", script)
      listening.engine.load(item, at: .zero, isPaused: false)
      try await listening.waitForReady(item)
      try await eventually("what comes has come") {
        listening.engine.player.currentItem?.loadedTimeRanges.last?.timeRangeValue.end.seconds
          == 100
      }
      await listening.settle()
      listening.forget()
      return item
    }

    private func letBytesCome(_ listening: AppleListening) {
      listening.origin.script("/a.wav", FaultScript())
      listening.origin.release("/a.wav")
    }

    private func lag(_ listening: AppleListening, _ change: Int?, _ notice: Int?) {
      let player = listening.engine.player
      player.standInChangeLag = change.map { .milliseconds($0) }
      player.currentItem?.standInChangeLag = player.standInChangeLag
      player.standInNoticeLag = notice.map { .milliseconds($0) }
    }

    /// - Parameter order: nil: all reports come at once.
    @Test(arguments: orders.map { $0 as [Report]? } + [nil])
    func `Playback resumes when bytes arrive, in any order of the stall's reports`(
      _ order: [Report]?
    ) async throws {
      try await AppleListening.with { listening in
        let item = try await playing(listening)
        listening.engine.player.standInStall = order.map { StandInStall($0) }
        await listening.pass(110, step: 10)
        try await eventually("it reports all") { !listening.engine.player.standInIsStalling }
        try await listening.wait("it waits") { $0 == .waiting(item.id, .bytes) }
        #expect(listening.positions.last == .seconds(100))
        letBytesCome(listening)
        try await eventually("it goes on") {
          listening.engine.player.timeControlStatus == .playing
        }
        try await listening.loaded()
        await listening.pass(101, step: 10)
        #expect(
          listening.steps == [
            .waiting(item.id, .bytes), .waiting(item.id, nil), .ended(item.id, followedBy: nil),
          ])
      }
    }

    @Test(arguments: orders)
    func `Playback resumes if bytes arrive before the stall is reported`(
      _ order: [Report]
    ) async throws {
      try await AppleListening.with { listening in
        let item = try await playing(listening)
        listening.engine.player.standInStall = StandInStall(order, gap: .milliseconds(20))
        await listening.pass(110, step: 10)
        letBytesCome(listening)
        try await listening.loaded()
        try await eventually("it stood still") { !listening.engine.player.standInIsStalling }
        try await eventually("it goes on") {
          listening.engine.player.timeControlStatus == .playing
        }
        await listening.pass(101, step: 10)
        #expect(listening.pauses == [])
        #expect(listening.events.last == .ended(item.id, followedBy: nil))
      }
    }

    /// Plays an item up to its stall at 100 s, of a player that never predicts enough.
    private func stalling(_ listening: AppleListening, isVideo: Bool) async throws -> EngineItem {
      let item = try await playing(
        listening, script: .nothingBeyond(100_044).on(.all, .stall(at: .resource(109_044))))
      let player = listening.engine.player
      let playing = try #require(player.currentItem)
      playing.standInPredicts = false
      if isVideo { playing.standInShow(CGSize(width: 640, height: 360)) }
      try await eventually("AVPlayer waits by itself only for a film") {
        player.automaticallyWaitsToMinimizeStalling == isVideo
      }
      await listening.pass(110, step: 10)
      try await listening.wait("it waits") { $0 == .waiting(item.id, .bytes) }
      return item
    }

    @Test(arguments: [true, false])
    func `A stall ends once ten seconds are loaded, whatever AVPlayer predicts`(
      _ isVideo: Bool
    ) async throws {
      try await AppleListening.with { listening in
        let item = try await stalling(listening, isVideo: isVideo)
        // Nine seconds more, of which none are played yet.
        listening.origin.release("/a.wav")
        let player = listening.engine.player
        try await eventually("9 seconds came") {
          player.currentItem?.loadedTimeRanges.last?.timeRangeValue.end.seconds == 109
        }
        await listening.pass(1)
        #expect(player.timeControlStatus != .playing && player.currentTime().seconds == 100)
        letBytesCome(listening)
        try await eventually("it goes on") { player.timeControlStatus == .playing }
        try await eventually("all of it came") {
          player.currentItem?.loadedTimeRanges.last?.timeRangeValue.end.seconds == 200
        }
        await listening.pass(101, step: 10)
        #expect(listening.pauses == [])
        #expect(listening.events.last == .ended(item.id, followedBy: nil))
      }
    }

    @Test(arguments: lags)
    func `Delayed reports do not turn a stall into a pause`(
      _ change: Int?, _ notice: Int?
    ) async throws {
      try await AppleListening.with { listening in
        let item = try await playing(listening)
        lag(listening, change, notice)
        listening.engine.player.standInStall = StandInStall([.rate])
        await listening.pass(110, step: 10)
        try await eventually("it stood still") { listening.engine.player.rate == 0 }
        try await eventually("it reports all") { !listening.engine.player.standInIsStalling }
        // The report of this pause comes when playback has stopped again.
        listening.engine.pause()
        listening.engine.play()
        listening.forget()
        try await listening.wait("it waits") { $0 == .waiting(item.id, .bytes) }
        letBytesCome(listening)
        try await eventually("it goes on") {
          listening.engine.player.timeControlStatus == .playing
        }
        try await listening.loaded()
        #expect(listening.pauses == [])
      }
    }

    @Test(arguments: lags)
    func `A player paused by other code stays paused, even if the reason is late`(
      _ change: Int?, _ notice: Int?
    ) async throws {
      try await AppleListening.with { listening in
        _ = try await playing(listening)
        await listening.pass(2)
        lag(listening, change, notice)
        listening.engine.player.pause()
        try await listening.wait("paused") { $0 == .pausedBySystem(true) }
        await listening.pass(2)
        #expect(listening.pauses == [true] && listening.engine.player.rate == 0)
        listening.engine.player.play()
        try await listening.wait("plays") { $0 == .pausedBySystem(false) }
        // A call comes long after a pause: its end does not start playback.
        lag(listening, nil, nil)
        listening.engine.player.pause()
        await listening.settle()
        listening.session.standInInterrupt()
        listening.session.standInEndInterruption(shouldResume: true)
        await listening.pass(1)
        #expect(listening.engine.player.rate == 0)
        letBytesCome(listening)
      }
    }

    @Test(arguments: lags)
    func `A call pauses and its end resumes, even if the reason is late`(
      _ change: Int?, _ notice: Int?
    ) async throws {
      for isFirst in [true, false] {
        try await AppleListening.with { listening in
          _ = try await playing(listening)
          lag(listening, change, notice)
          if isFirst { listening.session.standInInterrupt() }
          listening.engine.player.standInPause(for: .audioSessionInterrupted)
          try await listening.wait("paused") { $0 == .pausedBySystem(true) }
          if !isFirst { listening.session.standInInterrupt() }
          await listening.pass(2)
          #expect(listening.pauses == [true] && listening.engine.player.rate == 0)
          listening.session.standInEndInterruption(shouldResume: true)
          try await listening.wait("plays") { $0 == .pausedBySystem(false) }
          letBytesCome(listening)
        }
      }
    }

    // MARK: Without a pause

    /// Plays up to the end of the bytes.
    private func waiting(_ listening: AppleListening) async throws -> EngineItem {
      let item = try await playing(listening)
      await listening.pass(110, step: 10)
      return item
    }

    @Test func `A paused item does not report waiting`() async throws {
      try await AppleListening.with { listening in
        let item = try await waiting(listening)
        listening.engine.pause()
        await listening.settle()
        #expect(
          listening.steps == [
            .waiting(item.id, .bytes), .waiting(item.id, nil),
          ])
        listening.forget()
        await listening.pass(2)
        #expect(listening.steps.isEmpty)
        listening.engine.play()
        await listening.pass(1)
        #expect(listening.steps == [.waiting(item.id, .bytes)])
        listening.origin.release("/a.wav")
      }
    }

    @Test func `A seek to loaded bytes ends the waiting`() async throws {
      try await AppleListening.with { listening in
        let item = try await waiting(listening)
        listening.engine.seek(to: .seconds(50), serial: 1)
        await listening.pass(1)
        #expect(
          listening.steps == [
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

    // MARK: Pauses by the system

    @Test func `A rate that AVPlayer refuses is a pause if bytes are available`() async throws {
      try await AppleListening.with { listening in
        _ = try await playing(listening)
        listening.engine.player.standInPause(for: .setRateFailed)
        try await listening.wait("paused") { $0 == .pausedBySystem(true) }
        letBytesCome(listening)
      }
    }

    @Test(arguments: [true, false])
    func `Unplugging headphones pauses even if the app manages its session`(
      _ isToldFirst: Bool
    ) async throws {
      try await AppleListening.with { listening in
        let engine = AVPlayerEngine(
          cache: listening.cache, audio: AudioSession(listening.session, .app))
        var events: [EngineEvent] = []
        engine.report = { events.append($0) }
        engine.load(listening.item(seconds: 100), at: .zero, isPaused: false)
        try await eventually("it plays") { engine.player.timeControlStatus == .playing }
        await listening.settle()
        // After an interruption of a mixing session, AVPlayer plays on.
        listening.session.standInEndInterruption(shouldResume: true)
        await listening.settle()
        #expect(engine.player.rate == 1 && !listening.session.standInIsActive)
        if isToldFirst { listening.session.standInChangeRoute(.oldDeviceUnavailable) }
        engine.player.standInPause(for: nil)
        if !isToldFirst { listening.session.standInChangeRoute(.oldDeviceUnavailable) }
        try await eventually("paused") { events.contains(.pausedBySystem(true)) }
        #expect(engine.player.rate == 0)
        await engine.close()
      }
    }
  }
#endif
