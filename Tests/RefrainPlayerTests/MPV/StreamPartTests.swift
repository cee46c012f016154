// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainPlayer

  /// Streams of which only a part plays.
  struct StreamPartTests {
    private func playback(_ part: Media.Part?) throws -> (MPVPlayback, MediaCache, URL) {
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-parts-\(UUID().uuidString)", directoryHint: .isDirectory)
      let cache = try MediaCache(directory: directory)
      let url = try #require(URL(string: "https://a.example/live.m3u8"))
      let item = EngineItem(id: EngineItem.ID(rawValue: 1), media: Media(url, part: part))
      return (MPVPlayback(item: item, cache: cache), cache, directory)
    }

    @Test(
      arguments: [
        (nil, 60, true), (nil, 195, false), (60, 30, true), (60, 59, false), (300, 195, false),
      ] as [(Int?, Int, Bool)])
    func `A stream is complete at the end of its part`(
      _ end: Int?, _ position: Int, _ isIncomplete: Bool
    ) async throws {
      let part = end.map { Media.Part(end: .seconds($0)) }
      let (playback, cache, directory) = try playback(part)
      playback.openedStream(lasting: .seconds(200))
      playback.noteStream(position: .seconds(position))
      #expect(playback.isStreamIncomplete == isIncomplete)
      await cache.close()
      try FileManager.default.removeItem(at: directory)
    }
  }
#endif
