// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(2)))
  struct RapidSwitchingTests {
    @Test
    func `Five hundred switches leak no threads or files, and the last item plays`() async throws {
      let seed = TestSeed.next()
      print("REFRAIN_SEED=\(seed)")
      var random = SeededGenerator(seed: seed)
      try await Listening.with { listening in
        let player = try await listening.player()
        player.play(listening.tracks)
        player.repeatMode = .all
        try await eventually("it plays") { player.status == .playing }
        let (threads, files) = (Self.threads, Self.files(below: listening.directory))
        for round in 0..<500 {
          Bool.random(using: &random) ? player.next() : player.previous()
          switch round % 25 {
          case 7: try await eventually("it plays in between") { player.status == .playing }
          // Without waiting: the switch may be at any point by then.
          case 3, 12, 18:
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...4, using: &random)))
          default: break
          }
        }
        let last = player.item
        try await eventually("the last one plays") {
          player.status == .playing && player.position > .zero
        }
        #expect(player.item == last && last != nil)
        // Other tests have threads of their own: a leak of 500 switches shows all the same.
        try await eventually("threads: \(Self.threads) instead of \(threads)") {
          Self.threads < threads + 60
        }
        try await eventually("files: \(Self.files(below: listening.directory))") {
          Self.files(below: listening.directory) <= files + 6
        }
        await player.close()
        await listening.cache.close()
        #expect(Self.files(below: listening.directory) == 0)
      }
    }

    private static var threads: Int {
      (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
    }

    /// Returns the number of this process's descriptors of files below the directory.
    private static func files(below directory: URL) -> Int {
      let folder = "/proc/self/fd"
      let path = directory.path(percentEncoded: false)
      return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
        .compactMap {
          try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
        }
        .count { $0.hasPrefix(path) }
    }
  }
#endif
