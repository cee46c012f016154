// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import Testing

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Pictures that are files.
@MainActor
@Suite(.timeLimit(.minutes(1)))
struct ArtworkTests {
  private func withPlayer(_ body: (Player, _ directory: URL) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "refrain-artwork-\(UUID().uuidString)", directoryHint: .isDirectory)
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try MediaCache(directory: directory.appending(path: "cache"))
    try await body(Player(cache: cache, engine: ScriptedEngine()), directory)
    await cache.close()
  }

  @Test func `A picture is read, up to 16 MiB`() async throws {
    try await withPlayer { player, directory in
      let file = directory.appending(path: "cover.png")
      try Data([1, 2, 3]).write(to: file)
      #expect(try await player.artwork(at: file) == Data([1, 2, 3]))
      let handle = try FileHandle(forWritingTo: file)
      try handle.truncate(atOffset: 16 << 20)
      #expect(try await player.artwork(at: file).count == 16 << 20)
      try handle.truncate(atOffset: (16 << 20) + 1)
      try handle.close()
      let error = await #expect(throws: MediaCacheError.self) {
        _ = try await player.artwork(at: file)
      }
      #expect(error?.code == .badRange)
    }
  }

  @Test func `A pipe without a writer is refused`() async throws {
    try await withPlayer { player, directory in
      let pipe = directory.appending(path: "cover.png")
      try #require(mkfifo(pipe.path(percentEncoded: false), 0o600) == 0)
      let error = await #expect(throws: MediaCacheError.self) {
        _ = try await player.artwork(at: pipe)
      }
      #expect(error?.code == .badURL)
    }
  }
}
