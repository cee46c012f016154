// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainPlayer

  /// The end of a stream that its manifest states.
  struct StreamEndTests {
    @Test(arguments: [(60, true), (195, false)])
    func `A stream is complete at the end of its manifest`(
      _ position: Int, _ isIncomplete: Bool
    ) async throws {
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-end-\(UUID().uuidString)", directoryHint: .isDirectory)
      let cache = try MediaCache(directory: directory)
      let url = try #require(URL(string: "https://a.example/live.m3u8"))
      let item = EngineItem(id: EngineItem.ID(rawValue: 1), media: Media(url))
      let playback = MPVPlayback(item: item, cache: cache)
      playback.openedStream(lasting: .seconds(200))
      playback.noteStream(position: .seconds(position))
      #expect(playback.isStreamIncomplete == isIncomplete)
      await cache.close()
      try FileManager.default.removeItem(at: directory)
    }
  }
#endif
