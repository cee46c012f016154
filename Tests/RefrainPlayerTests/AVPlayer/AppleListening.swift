// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import Testing
  import TestSupport

  @testable import RefrainPlayer

  /// An engine over the stand-in for AVPlayer, an origin, an empty cache, and the engine's events.
  /// Bytes arrive in real time; playing time passes when a test advances it.
  @MainActor final class AppleListening {
    let origin: OriginServer
    let cache: MediaCache
    let directory: URL
    let session = AVAudioSession()
    let engine: AVPlayerEngine
    private(set) var events: [EngineEvent] = []
    private var nextID: UInt64 = 0

    private init(origin: OriginServer, cache: MediaCache, directory: URL) {
      self.origin = origin
      self.cache = cache
      self.directory = directory
      engine = AVPlayerEngine(cache: cache, audio: AudioSession(session))
      engine.report = { [weak self] in self?.events.append($0) }
    }

    /// Runs `body`, and removes everything.
    static func with(
      _ change: (inout MediaCache.Configuration) -> Void = { _ in },
      _ body: (AppleListening) async throws -> Void
    ) async throws {
      try await withOrigin { configuration, _ in
        configuration.retry.firstDelay = .milliseconds(1)
        configuration.retry.longestDelay = .milliseconds(20)
        change(&configuration)
      } _: { origin, cache, directory in
        let listening = AppleListening(origin: origin, cache: cache, directory: directory)
        do {
          try await body(listening)
        } catch {
          await listening.engine.close()
          throw error
        }
        #expect(listening.engine.player.standInViolations == [])
        await listening.engine.close()
      }
    }

    // MARK: Items

    /// Serves a file of that length at the origin, and returns an item of it.
    func item(
      _ path: String = "/a.wav", seconds: Double = 10,
      _ change: (inout OriginResource) -> Void = { _ in }
    ) -> EngineItem {
      var resource = Wave(seconds: seconds).resource
      change(&resource)
      origin.serve(resource, at: path)
      return item(at: origin.url(path))
    }

    func item(at url: URL) -> EngineItem {
      nextID += 1
      return EngineItem(id: EngineItem.ID(rawValue: nextID), media: Media(url))
    }

    // MARK: Time

    /// Advances the clock by `seconds`, in steps, and delivers the events of each.
    func pass(_ seconds: Double, step: Double = 0.5) async {
      await settle()
      var left = seconds
      while left > 1e-9 {
        engine.player.standInAdvance(min(step, left))
        await settle()
        left -= step
      }
    }

    /// Lets the engine observe and report the current state.
    func settle() async {
      for _ in 0..<4 { await Task { @MainActor in }.value }
    }

    /// Waits, in real time, for an event. Playing time stands still.
    func wait(_ what: String, _ condition: @escaping @MainActor (EngineEvent) -> Bool) async throws
    {
      try await eventually("\(what) (told: \(events.suffix(20)))") {
        for event in events where condition(event) { return true }
        return false
      }
    }

    /// Waits until all bytes that AVPlayer requests have come.
    func loaded() async throws {
      try await eventually("all of it came") {
        engine.player.items().allSatisfy(\.isPlaybackBufferFull)
      }
      await settle()
    }

    func waitForReady(_ item: EngineItem) async throws {
      try await wait("\(item.id) is ready") { $0.isReady(item.id) }
    }

    /// Loads the item, and waits until it plays and all of its bytes have come.
    func start(_ item: EngineItem, at start: Duration = .zero, isPaused: Bool = false) async throws
    {
      engine.load(item, at: start, isPaused: isPaused)
      try await waitForReady(item)
      try await loaded()
    }

    /// Discards the events so far.
    func forget() { events = [] }

    var positions: [Duration] {
      events.compactMap { if case .position(_, let position) = $0 { position } else { nil } }
    }

    /// The reports of a pause by the system, and of its end.
    var pauses: [Bool] {
      events.compactMap { if case .pausedBySystem(let isPaused) = $0 { isPaused } else { nil } }
    }

    /// The events whose number does not depend on timing and the network.
    var steps: [EngineEvent] {
      events.filter {
        switch $0 {
        case .position, .buffered: false
        default: true
        }
      }
    }
  }

  extension EngineEvent {
    func isReady(_ item: EngineItem.ID) -> Bool {
      if case .ready(item, _) = self { true } else { false }
    }

    var isFailure: Bool { failure != nil }

    var failure: MediaCacheError? {
      if case .failed(_, let error) = self { error } else { nil }
    }
  }
#endif
