// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainPlayer

  struct MPVSetupTests {
    @Test func everyOptionIsOneThatThisLibmpvKnows() async throws {
      for output in [AudioOutput.device, .silent, .wavFile(URL(filePath: "/tmp/x.wav"))] {
        let engine = try await MPVEngine(output: output)
        await engine.close()
      }
    }

    @Test func closingTwiceAndManyEnginesAtOnceIsFine() async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
          group.addTask {
            let engine = try await MPVEngine(output: .silent)
            engine.play()
            engine.seek(to: .seconds(3))
            engine.stop()
            async let first: Void = engine.close()
            await engine.close()
            await first
            engine.pause()
          }
        }
        try await group.waitForAll()
      }
    }

    @Test(arguments: [
      MPV_ERROR_UNKNOWN_FORMAT, MPV_ERROR_NOTHING_TO_PLAY, MPV_ERROR_AO_INIT_FAILED,
      MPV_ERROR_LOADING_FAILED, MPV_ERROR_GENERIC,
    ])
    func errorsSpeakOfTheResourceAndNotOfNumbers(_ error: mpv_error) throws {
      let url = try #require(URL(string: "http://h/song.flac"))
      let told = MediaCacheError(mpv: error.rawValue, playing: url)
      #expect(!told.description.contains("\(error.rawValue)"))
      #expect(!told.remedy.isEmpty)
    }

    @Test func onlyTheEndOfAPlaybackIsLast() {
      let last: [PlaybackEvent] = [.ended, .stopped, .failed(MediaCacheError(.offline, "x"))]
      #expect(last.allSatisfy { $0.isLast })
      let others: [PlaybackEvent] = [
        .started(after: .zero), .duration(.zero), .position(.zero), .silent,
      ]
      #expect(!others.contains { $0.isLast })
    }
  }
#endif
