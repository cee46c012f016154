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
    private(set) var engine: AVPlayerEngine
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
      var configuration = MediaCache.Configuration()
      configuration.retry.firstDelay = .milliseconds(1)
      configuration.retry.longestDelay = .milliseconds(20)
      change(&configuration)
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-apple-\(UUID().uuidString)", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let origin = try await OriginServer.start()
      let cache = try MediaCache(
        directory: directory.appending(path: "cache"), configuration: configuration)
      let listening = AppleListening(origin: origin, cache: cache, directory: directory)
      var failure: (any Error)?
      do { try await body(listening) } catch { failure = error }
      #expect(listening.engine.player.standInViolations == [])
      await listening.engine.close()
      await cache.close()
      await origin.stop()
      try FileManager.default.removeItem(at: directory)
      if let failure { throw failure }
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
  }

  extension FaultScript {
    /// Returns faults that withhold all bytes from `offset` on, until the origin releases them.
    static func nothingBeyond(_ offset: Int64) -> FaultScript {
      .on(.all, .stall(at: .resource(offset)))
        .on(
          .where { request in
            let start = request.range?.dropFirst("bytes=".count).prefix { $0 != "-" }
            return (start.flatMap { Int64($0) } ?? 0) > offset
          }, .delay(nil))
    }
  }

  extension EngineEvent {
    func isReady(_ item: EngineItem.ID) -> Bool {
      if case .ready(item, _) = self { true } else { false }
    }

    /// Whether the number of these events, positions and loaded ranges, depends on timing and the
    /// network.
    var isOfMany: Bool {
      switch self {
      case .position, .buffered: true
      default: false
      }
    }

    var isFailure: Bool { failure != nil }

    var failure: MediaCacheError? {
      if case .failed(_, let error) = self { error } else { nil }
    }

    /// The item that the event is about.
    var item: EngineItem.ID? {
      switch self {
      case .began(let id), .ready(let id, _), .duration(let id, _), .position(let id, _),
        .buffered(let id, _), .waiting(let id, _), .seekCompleted(let id, _, _),
        .metadata(let id, _),
        .ended(let id, _), .failed(let id, _), .live(let id), .tracks(let id, _),
        .video(let id, _), .subtitleFailed(let id, _, _), .displaced(let id),
        .liveWindow(let id, _), .streamTitle(let id, _):
        id
      case .audioUnavailable, .audioAvailable, .pausedBySystem, .videoUnavailable, .window,
        .fullscreen, .requested:
        nil
      }
    }
  }
#endif
