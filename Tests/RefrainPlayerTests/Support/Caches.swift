// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import RefrainPlayer

/// Runs `body` with a new directory, and removes it.
@MainActor
func withDirectory(_ body: (URL) async throws -> Void) async throws {
  let directory = FileManager.default.temporaryDirectory
    .appending(path: "refrain-player-\(UUID().uuidString)", directoryHint: .isDirectory)
  try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: directory) }
  try await body(directory)
}

/// Runs `body` with a new cache, which is the folder `cache` of a new directory.
@MainActor
func withCache(
  _ configuration: MediaCache.Configuration = MediaCache.Configuration(),
  _ body: (_ cache: MediaCache, _ directory: URL) async throws -> Void
) async throws {
  try await withDirectory { directory in
    let cache = try MediaCache(
      directory: directory.appending(path: "cache"), configuration: configuration)
    do {
      try await body(cache, directory)
    } catch {
      await cache.close()
      throw error
    }
    await cache.close()
  }
}

/// Runs `body` with a new origin and a new cache.
@MainActor
func withOrigin(
  _ configure: (inout MediaCache.Configuration, OriginServer) -> Void = { _, _ in },
  _ body: (_ origin: OriginServer, _ cache: MediaCache, _ directory: URL) async throws -> Void
) async throws {
  let origin = try await OriginServer.start()
  var configuration = MediaCache.Configuration()
  configure(&configuration, origin)
  do {
    try await withCache(configuration) { try await body(origin, $0, $1) }
  } catch {
    await origin.stop()
    throw error
  }
  await origin.stop()
}

/// Runs `body` with a player over an engine whose steps the test takes.
@MainActor
func withPlayer(
  _ configuration: Player.Configuration = Player.Configuration(),
  _ body: (Player, ScriptedEngine) async throws -> Void
) async throws {
  try await withCache { cache, _ in
    let engine = ScriptedEngine()
    let player = Player(cache: cache, engine: engine, configuration: configuration)
    do {
      try await body(player, engine)
    } catch {
      await player.close()
      throw error
    }
    await player.close()
  }
}

extension MediaCache.Configuration {
  /// Failed requests are tried again once and at once, and requests without readers are given up at
  /// once.
  static let impatient: MediaCache.Configuration = {
    var configuration = MediaCache.Configuration()
    configuration.retry.attempts = 1
    configuration.retry.firstDelay = .milliseconds(1)
    configuration.firstRequest = 256 << 10
    configuration.abandonedSilence = .milliseconds(20)
    return configuration
  }()

  /// Keeps requests apart: none waits for the bytes of another, and one that stalls waits for the
  /// test, however slow the machine is.
  mutating func keepRequestsApart() {
    joinPatience = .zero
    abandonedSilence = .milliseconds(20)
    silenceTimeout = .seconds(100)
  }
}
