// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// Runs `body` with a new cache, and removes it.
@MainActor
func withResumptionCache(
  _ configuration: MediaCache.Configuration = MediaCache.Configuration(),
  _ body: (_ cache: MediaCache, _ directory: URL) async throws -> Void
) async throws {
  let directory = FileManager.default.temporaryDirectory
    .appending(path: "refrain-resumption-\(UUID().uuidString)", directoryHint: .isDirectory)
  defer { try? FileManager.default.removeItem(at: directory) }
  let cache = try MediaCache(directory: directory, configuration: configuration)
  do {
    try await body(cache, directory)
  } catch {
    await cache.close()
    throw error
  }
  await cache.close()
}

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
    try await withResumptionCache { cache, _ in
      try await body(cache, await PlaybackPositions.open(for: cache))
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
