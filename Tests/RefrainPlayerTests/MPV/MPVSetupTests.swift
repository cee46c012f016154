// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct MPVSetupTests {
    @Test func `The installed libmpv accepts every option`() async throws {
      try await Listening.with { listening in
        for output in [AudioOutput.device, .silent, .wavFile(URL(filePath: "/tmp/x.wav"))] {
          let engine = try await MPVEngine(cache: listening.cache, output: output)
          await engine.close()
        }
      }
    }

    @Test func `Several engines run at once, and closing one twice is safe`() async throws {
      try await Listening.with { listening in
        let running = (0..<8).map { _ in
          Task {
            let engine = try await MPVEngine(cache: listening.cache, output: .silent)
            engine.play()
            engine.seek(to: .seconds(3), serial: 1)
            engine.stop()
            async let first: Void = engine.close()
            await engine.close()
            await first
            engine.pause()
          }
        }
        for one in running { try await one.value }
      }
    }

    @Test(arguments: [
      MPV_ERROR_UNKNOWN_FORMAT, MPV_ERROR_NOTHING_TO_PLAY, MPV_ERROR_AO_INIT_FAILED,
      MPV_ERROR_LOADING_FAILED, MPV_ERROR_GENERIC,
    ])
    func `Errors of libmpv have a remedy and show no error number`(_ error: mpv_error) throws {
      let url = try #require(URL(string: "http://h/song.flac"))
      let told = try MPVLibrary.load().error(error.rawValue, playing: url)
      #expect(!told.description.contains("\(error.rawValue)"))
      #expect(!told.remedy.isEmpty)
    }
  }
#endif
