// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Playback where libmpv is missing or has the wrong version.
  @Suite(.timeLimit(.minutes(1)))
  struct MPVLibraryTests {
    private static let package = "apt-get install libmpv2"

    private func failure(_ library: String) -> MPVError? {
      #expect(throws: MPVError.self) { try MPVLibrary.load(library) }
    }

    @Test func `A missing library is an error that names its package`() throws {
      let error = try #require(failure("libmpv.so.0"))
      #expect(error.reason.contains("libmpv.so.0: cannot open shared object file"))
      #expect(error.remedy.contains(Self.package))
    }

    @Test func `A file that is not a library is an error that names the file`() async throws {
      try await withDirectory { directory in
        let file = directory.appending(path: "no-library.so")
        try Data("no library".utf8).write(to: file)
        let error = try #require(failure(file.path(percentEncoded: false)))
        #expect(error.reason.contains("no-library.so"))
        #expect(error.remedy.contains(Self.package))
      }
    }

    @Test func `A library without libmpv's functions is an error that names the first`() throws {
      let error = try #require(failure("libc.so.6"))
      #expect(error.reason == "libc.so.6 has no function mpv_client_api_version.")
      #expect(error.remedy.contains(Self.package))
    }

    @Test(arguments: [1 << 16 | 109, 1 << 16 | 0xffff, 3 << 16, 0])
    func `A version of another ABI is an error`(_ version: CUnsignedLong) throws {
      let error = try #require(
        #expect(throws: MPVError.self) {
          try MPVLibrary.check(version: version, of: "libmpv.so.2")
        })
      #expect(error.reason.contains("\(version >> 16).\(version & 0xffff) of its API; 2.0 "))
      #expect(error.remedy.contains(Self.package))
    }

    @Test(arguments: [2 << 16, 2 << 16 | 1, 2 << 16 | 0xffff])
    func `Every minor version of the right ABI is accepted`(_ version: CUnsignedLong) throws {
      try MPVLibrary.check(version: version, of: "libmpv.so.2")
    }

    @MainActor
    @Test(arguments: ["libmpv.so.0", "libc.so.6"])
    func `An engine without libmpv fails, and leaves the cache usable`(
      _ library: String
    ) async throws {
      try await Listening.with { listening in
        let error = try #require(
          await #expect(throws: MPVError.self) {
            _ = try await MPVEngine(cache: listening.cache, output: .silent, library: library)
          })
        #expect(error.remedy.contains(Self.package))
        let reader = try await listening.cache.open(Resource(url: listening.media.url))
        #expect(try await reader.bytes(in: 0..<4) == Data("RIFF".utf8))
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `Concurrent loads of libmpv yield the same library`() async throws {
      let addresses = try await withThrowingTaskGroup(of: UInt.self) { group in
        for _ in 0..<16 {
          group.addTask {
            try await withCheckedThrowingContinuation { continuation in
              Thread {
                continuation.resume(
                  with: Result {
                    unsafeBitCast(try MPVLibrary.load().wakeup, to: UInt.self)
                  })
              }.start()
            }
          }
        }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect(addresses.count == 1)
    }
  }

  /// The installed libmpv.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct MPVSetupTests {
    @Test func `The installed libmpv accepts the options of every output`() async throws {
      try await Listening.with { listening in
        let file = listening.directory.appending(path: "x.wav")
        for output in [AudioOutput.device, .wavFile(file)] {
          await (try await listening.referee(output: output)).close()
        }
        var video = VideoConfiguration.window
        (video.applicationID, video.applicationName) = ("app", "An $app")
        var sound = video
        sound.output = .none
        for video in [video, .embedded(windowID: 1), sound, .none] {
          let referee = try await listening.referee(video)
          #expect(referee.engine.capabilities.externalSubtitles == (video.output != .none))
          await referee.close()
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
