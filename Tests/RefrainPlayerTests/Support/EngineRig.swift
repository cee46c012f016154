// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

#if os(Linux)
  import AVFoundationStandIn
#endif

/// An engine with media to play.
@MainActor
protocol EngineRig {
  var referee: EngineReferee { get }
  /// The number of random runs that fit in the time.
  static var lives: Int { get }
  /// Returns media of that duration, in tenths of a second.
  func media(tenths: Int) -> Media
  /// Media that cannot be fetched.
  var missing: Media { get }
  /// A resource that is not media.
  var noise: Media { get }
  /// Lets some time pass.
  func pass() async throws
  func close() async
}

enum EngineKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case scripted
  #if os(Linux)
    case mpv
    case avPlayer
  #endif

  /// The engines whose requirements this machine meets.
  static let usable = allCases.filter { kind in
    #if os(Linux)
      kind != .mpv || RequiredLibrary.libmpv.isUsable
    #else
      true
    #endif
  }

  var testDescription: String { rawValue }

  @MainActor
  func with(_ body: (any EngineRig) async throws -> Void) async throws {
    let rig: any EngineRig =
      switch self {
      case .scripted: ScriptedRig()
      #if os(Linux)
        case .mpv: try await MPVRig()
        case .avPlayer: try await AVPlayerRig()
      #endif
      }
    do {
      try await body(rig)
    } catch {
      await rig.close()
      throw error
    }
    await rig.close()
    #expect(rig.referee.violations == [])
  }

  @MainActor
  var lives: Int {
    switch self {
    case .scripted: ScriptedRig.lives
    #if os(Linux)
      case .mpv: MPVRig.lives
      case .avPlayer: AVPlayerRig.lives
    #endif
    }
  }
}

extension EngineRig {
  /// Lets time pass until the condition holds.
  func until(_ what: String, _ condition: () -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(TestSeed.isSanitized ? 120 : 30)
    while !condition() {
      try #require(
        ContinuousClock.now < end, "it never came to that: \(what), \(referee.events.suffix(10))")
      try await pass()
    }
  }
}

/// The scripted engine, whose possible steps happen in turn.
@MainActor
final class ScriptedRig: EngineRig {
  static let lives = 1_500
  private let engine = ScriptedEngine()
  let referee: EngineReferee
  private var turn = 0

  init() { referee = EngineReferee(engine) }

  func media(tenths: Int) -> Media { ScriptedEngine.media("ok-\(max(1, tenths / 10))") }
  var missing: Media { ScriptedEngine.media("missing") }
  var noise: Media { ScriptedEngine.media("broken") }

  func pass() async throws {
    let likely: [ScriptedEngine.Step] = [
      .begin, .fail, .duration, .ready, .arrive, .goOn, .buffer, .tick, .metadata, .end,
    ]
    let possible = likely.filter(engine.possible.contains)
    guard !possible.isEmpty else { return }
    // The item ends only once it has reached its end.
    if possible.contains(.end), let now = engine.current,
      now.position >= ScriptedEngine.duration(of: now.item.media) ?? .zero
    {
      return engine.take(.end)
    }
    turn += 1
    if let first = engine.necessary { return engine.take(first) }
    let others = possible.filter { $0 != .end }
    if !others.isEmpty { engine.take(others[turn % others.count]) }
  }

  func close() async { await referee.close() }
}

#if os(Linux)
  /// libmpv in real time, without sound, over a real origin.
  @MainActor
  final class MPVRig: EngineRig {
    static let lives = 15
    let referee: EngineReferee
    private let origin: OriginServer
    private let cache: MediaCache
    private let directory: URL

    init() async throws {
      directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-engine-\(UUID().uuidString)", directoryHint: .isDirectory)
      origin = try await OriginServer.start()
      cache = try MediaCache(directory: directory)
      referee = EngineReferee(try await MPVEngine(cache: cache, output: .silent))
      for tenths in [2, 5, 10, 100] {
        let samples = Tune.samples[..<(Tune.sampleRate * Tune.channels / 10 * tenths)]
        origin.serve(
          OriginResource(
            .bytes(Tracks.wav(samples)), contentType: "audio/wav", etag: "\"\(tenths)\""),
          at: "/\(tenths).wav")
      }
      origin.serve(.synthetic(seed: 3, length: 60_000), at: "/noise")
    }

    func media(tenths: Int) -> Media { Media(origin.url("/\(tenths).wav")) }
    var missing: Media { Media(origin.url("/missing.wav")) }
    var noise: Media { Media(origin.url("/noise")) }

    func pass() async throws { try await Task.sleep(for: .milliseconds(5)) }

    func close() async {
      await referee.close()
      await cache.close()
      await origin.stop()
      try? FileManager.default.removeItem(at: directory)
    }
  }

  /// AVPlayer's stand-in, whose time the test advances, over a real origin.
  @MainActor
  final class AVPlayerRig: EngineRig {
    static let lives = 80
    let referee: EngineReferee
    private let engine: AVPlayerEngine
    private let origin: OriginServer
    private let cache: MediaCache
    private let directory: URL

    init() async throws {
      directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-engine-\(UUID().uuidString)", directoryHint: .isDirectory)
      origin = try await OriginServer.start()
      cache = try MediaCache(directory: directory)
      engine = AVPlayerEngine(cache: cache, audio: AudioSession(AVAudioSession()))
      referee = EngineReferee(engine)
      for tenths in [2, 5, 10, 100] {
        origin.serve(Wave(seconds: Double(tenths) / 10).resource, at: "/\(tenths).wav")
      }
      origin.serve(.synthetic(seed: 3, length: 60_000), at: "/noise")
    }

    func media(tenths: Int) -> Media { Media(origin.url("/\(tenths).wav")) }
    var missing: Media { Media(origin.url("/missing.wav")) }
    var noise: Media { Media(origin.url("/noise")) }

    func pass() async throws {
      try await Task.sleep(for: .milliseconds(1))
      engine.player.standInAdvance(0.02)
      for _ in 0..<4 { await Task { @MainActor in }.value }
    }

    func close() async {
      await referee.close()
      await cache.close()
      await origin.stop()
      try? FileManager.default.removeItem(at: directory)
    }
  }
#endif
