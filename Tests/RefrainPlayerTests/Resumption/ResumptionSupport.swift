// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

extension PlaybackMark {
  /// A mark in a film of an hour. The date is whole, as it is read back.
  static func at(_ seconds: Double, age: Double = 0) -> PlaybackMark {
    PlaybackMark(
      position: .seconds(seconds), duration: .seconds(3600),
      date: Date(timeIntervalSince1970: 1_700_000_000 - age))
  }
}

/// A suite of a player that goes on, over an engine whose steps the test takes.
@MainActor
protocol ResumingPlayerTest {}

extension ResumingPlayerTest {
  func withPositions(
    _ body: (MediaCache, PlaybackPositions) async throws -> Void
  ) async throws {
    try await withCache { cache, _ in
      try await body(cache, await PlaybackPositions.open(for: cache))
    }
  }

  /// Runs `body` with a player that stores positions, and closes it.
  func withResumption(
    _ body: (Player, ScriptedEngine, PlaybackPositions, MediaCache) async throws -> Void
  ) async throws {
    try await withPositions { cache, positions in
      let (player, engine) = player(cache, positions)
      do {
        try await body(player, engine, positions, cache)
      } catch {
        await player.close()
        throw error
      }
      await player.close()
    }
  }

  func player(
    _ cache: MediaCache, _ positions: PlaybackPositions,
    _ change: (inout Player.Configuration) -> Void = { _ in }
  ) -> (Player, ScriptedEngine) {
    var configuration = Player.Configuration()
    configuration.prefetchesNext = false
    configuration.resumption = Resumption(positions)
    change(&configuration)
    let engine = ScriptedEngine()
    return (Player(cache: cache, engine: engine, configuration: configuration), engine)
  }

  func begin(_ engine: ScriptedEngine) {
    for step in [ScriptedEngine.Step.begin, .duration, .ready] { engine.take(step) }
  }

  /// Two sound tracks and a subtitle.
  var tracks: MediaTracks {
    MediaTracks(
      [
        MediaTrack(.init(.audio, 1), language: "en"),
        MediaTrack(.init(.audio, 2), language: "de"),
        MediaTrack(.init(.subtitle, 1), language: "en"),
      ], selected: [.init(.audio, 1), .init(.subtitle, 1)])
  }

  func reportTracks(_ engine: ScriptedEngine) throws {
    engine.report?(.tracks(try #require(engine.current).item.id, tracks))
  }

  var film: Media { ScriptedEngine.media("film-3600") }
  var other: Media { ScriptedEngine.media("other-3600") }
  var song: Media { ScriptedEngine.media("song-200") }
}
