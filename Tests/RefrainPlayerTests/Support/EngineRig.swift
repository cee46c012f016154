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
  /// Returns media of that duration, in tenths of a second.
  func media(tenths: Int) -> Media
  /// Media that cannot be fetched.
  var missing: Media { get }
  /// A resource that is not media.
  var noise: Media { get }
  /// Media whose bytes stop in their middle for now; nil: there is none.
  var held: Media? { get }
  /// Lets some time pass.
  func pass() async throws
  /// Has something happen that no command has asked for.
  func disturb(_ random: inout SeededGenerator) async
  /// The violations by the engine of its platform's rules.
  var platformViolations: [String] { get }
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
  func with(_ body: @MainActor (any EngineRig) async throws -> Void) async throws {
    try await withOrigin { origin, cache, _ in
      let rig: any EngineRig =
        switch self {
        case .scripted: ScriptedRig()
        #if os(Linux)
          case .mpv: try await MPVRig(origin, cache)
          case .avPlayer: AVPlayerRig(origin, cache)
        #endif
        }
      try await rig.referee.closing { try await body(rig) }
      #expect(rig.platformViolations == [])
    }
  }

  /// The random runs that fit in the time, and the most commands of each.
  var lives: (count: Int, commands: Int) {
    switch self {
    case .scripted: (1_500, 12)
    #if os(Linux)
      case .mpv: (15, 12)
      case .avPlayer: (80, 50)
    #endif
    }
  }
}

extension EngineRig {
  var held: Media? { nil }
  var platformViolations: [String] { [] }

  func disturb(_ random: inout SeededGenerator) {}

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
}

#if os(Linux)
  /// An engine that fetches its media from a real origin.
  @MainActor
  protocol FetchingRig: EngineRig {
    var origin: OriginServer { get }
  }

  extension FetchingRig {
    func media(tenths: Int) -> Media { Media(origin.url("/\(tenths).wav")) }
    var missing: Media { Media(origin.url("/missing.wav")) }
    var noise: Media { Media(origin.url("/noise")) }

    /// - Parameter file: returns a file of that duration, in tenths of a second.
    fileprivate func serve(_ file: (Int) -> OriginResource) {
      for tenths in [2, 5, 10, 100] { origin.serve(file(tenths), at: "/\(tenths).wav") }
      origin.serve(.synthetic(seed: 3, length: 60_000), at: "/noise")
    }
  }

  /// libmpv in real time, without sound.
  @MainActor
  final class MPVRig: FetchingRig {
    let origin: OriginServer
    let referee: EngineReferee

    init(_ origin: OriginServer, _ cache: MediaCache) async throws {
      self.origin = origin
      referee = EngineReferee(try await MPVEngine(cache: cache, output: .silent))
      serve { tenths in
        let samples = Tune.samples[..<(Tune.sampleRate * Tune.channels / 10 * tenths)]
        return OriginResource(
          .bytes(Tracks.wav(samples)), contentType: "audio/wav", etag: "\"\(tenths)\"")
      }
    }

    func pass() async throws { try await Task.sleep(for: .milliseconds(5)) }
  }

  /// AVPlayer's stand-in, whose time the test advances.
  @MainActor
  final class AVPlayerRig: FetchingRig {
    let origin: OriginServer
    let referee: EngineReferee
    private let engine: AVPlayerEngine
    private let session = AVAudioSession()

    init(_ origin: OriginServer, _ cache: MediaCache) {
      self.origin = origin
      engine = AVPlayerEngine(cache: cache, audio: AudioSession(session))
      referee = EngineReferee(engine)
      serve { Wave(seconds: Double($0) / 10).resource }
      origin.serve(Wave(seconds: 5).resource, at: "/held.wav")
      origin.script("/held.wav", .nothingBeyond(2000))
    }

    var held: Media? { Media(origin.url("/held.wav")) }
    var platformViolations: [String] { engine.player.standInViolations }

    func pass() async throws {
      try await Task.sleep(for: .milliseconds(1))
      await advance(0.02)
    }

    /// Advances the clock, and lets the engine report what has changed.
    private func advance(_ seconds: Double) async {
      engine.player.standInAdvance(seconds)
      for _ in 0..<4 { await Task { @MainActor in }.value }
    }

    func disturb(_ random: inout SeededGenerator) async {
      switch Int.random(in: 0..<20, using: &random) {
      case 0: origin.release("/held.wav")
      case 1: session.standInInterrupt()
      case 2..<5: session.standInEndInterruption(shouldResume: true)
      case 5: session.standInResetMediaServices()
      default: await advance(Double.random(in: 0...1, using: &random))
      }
    }
  }
#endif
