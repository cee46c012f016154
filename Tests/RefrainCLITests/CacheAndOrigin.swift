// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import RefrainPlayer
import RefrainPlayerStreams
import TestSupport

@testable import RefrainCLI

/// A cache in a folder of its own, and an origin.
struct CacheAndOrigin {
  let folder: URL
  let origin: OriginServer
  let cache: MediaCache

  /// Runs `body`; then the cache is closed, the origin stopped, and the folder removed.
  static func with(
    isolation: isolated (any Actor)? = #isolation,
    _ body: (CacheAndOrigin) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "refrain-cli-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await OriginServer.with { origin in
      let cache = try MediaCache(directory: folder.appending(path: ".cache"))
      let result: Result<Void, any Error>
      do {
        try await body(CacheAndOrigin(folder: folder, origin: origin, cache: cache))
        result = .success(())
      } catch {
        result = .failure(error)
      }
      await cache.close()
      try result.get()
    }
  }

  /// Writes a file in the folder.
  func write(_ text: String, _ name: String) throws -> URL {
    let file = folder.appending(path: name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
    return file
  }

  /// Serves a text, and returns its URL.
  @discardableResult
  func serve(_ text: String, _ path: String, _ type: String = "text/plain") -> URL {
    origin.serve(text: text, at: path, type)
    return origin.url(path)
  }
}

#if os(Linux)
  extension CacheAndOrigin {
    /// Runs `body` with a player that is silent, and plays streams through the proxy of `play`.
    ///
    /// - Parameter rewind: the bytes of a live stream that it keeps.
    @MainActor
    func withPlayer(rewind: Int64? = nil, _ body: (Player) async throws -> Void) async throws {
      let streams = StreamProxy(cache: cache)
      var configuration = Player.Configuration()
      configuration.streams = PlayerStreams { try await streams.url(for: $0) }
      if let rewind { configuration.rewind = rewind }
      let player = Player(
        cache: cache, engine: try await MPVEngine(cache: cache, output: .silent),
        configuration: configuration)
      let result: Result<Void, any Error>
      do {
        result = .success(try await body(player))
      } catch {
        result = .failure(error)
      }
      await player.close()
      await streams.stop()
      try result.get()
    }
  }
#endif
