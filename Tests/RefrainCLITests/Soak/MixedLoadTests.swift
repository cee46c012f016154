// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// Minutes of everything at once: five, or REFRAIN_SOAK_MINUTES.
  @Suite(.enabled(if: TestSeed.isSoak), .timeLimit(.minutes(90)))
  struct MixedLoadTests {
    private static var duration: Duration {
      let minutes = ProcessInfo.processInfo.environment["REFRAIN_SOAK_MINUTES"]
      return .seconds(60 * (minutes.flatMap { Double($0) } ?? 5))
    }

    private func serve(
      _ program: Program, _ origin: OriginServer
    ) async throws -> (RunningProgram, port: Int) {
      let serve = try RunningProgram(
        program,
        [
          "serve", "--port", "0", "--quiet", "--limit", "40M", "--origin",
          origin.baseURL.absoluteString,
        ])
      let port = try #require(URL(string: try await serve.nextLine())?.port)
      return (serve, port)
    }

    /// Two proxies share a directory on a small file system that is full now and then. One is
    /// killed and started again all the time; the other must not grow.
    @Test func `A proxy under mixed load and faults does not grow, and serves no wrong byte`()
      async throws
    {
      let seed = TestSeed.next()
      print("REFRAIN_SEED=\(seed) (mixed load)")
      let (mounted, reason) = SmallFileSystem.mount(bytes: 64 << 20)
      guard let mounted else {
        let text = "The mixed load was skipped: no tmpfs (\(reason))"
        if ProcessInfo.processInfo.environment["REFRAIN_REQUIRE_CLIENTS"] == "1" {
          Issue.record("\(text). Run it as root, or in a container that may mount.")
        } else {
          print(text)
        }
        return
      }
      let program = Program(directory: mounted.directory)
      let origin = try await OriginServer.start()
      let load = MixedLoad(origin: origin, seed: seed)
      let (lasting, port) = try await serve(program, origin)
      load.setPort(port, of: 0)
      let end = ContinuousClock.now + Self.duration
      var figures: [ProcessFigures] = []
      var kills = 0
      try await withThrowingTaskGroup(of: Void.self) { group in
        defer { load.end() }
        group.addTask { try await load.disturbOrigin() }
        group.addTask { try await load.fillDisk(mounted.directory) }
        for client in 0..<16 {
          group.addTask { await load.run(client: client, proxy: 0) }
        }
        for client in 16..<24 {
          group.addTask { await load.run(client: client, proxy: 1) }
        }
        var random = SeededGenerator(seed: seed)
        while ContinuousClock.now < end {
          let (other, port) = try await serve(program, origin)
          load.setPort(port, of: 1)
          for _ in 0..<Int.random(in: 2...20, using: &random) {
            // Nothing waits for this: it paces the measurements and the kills.
            try await Task.sleep(for: .milliseconds(500))
            figures.append(
              try #require(ProcessFigures(of: lasting.process), "ended: \(lasting.errors)"))
          }
          load.setPort(nil, of: 1)
          other.send(SIGKILL)
          _ = await other.end()
          kills += 1
        }
        load.end()
        try await group.waitForAll()
      }
      let fifths = (0..<5).map {
        ProcessFigures.median(
          of: figures[figures.count * $0 / 5..<figures.count * ($0 + 1) / 5])
      }
      for fifth in fifths { print("Median of a fifth of the time: \(fifth)") }
      for proxy in 0...1 {
        let tally = load.tally(of: proxy)
        print(
          "Proxy \(proxy): \(tally.complete) complete, \(tally.cut) cut, \(tally.lost) lost, "
            + "\(tally.bytes >> 20) MiB, statuses \(tally.statuses)")
        #expect(tally.wrong == [])
        #expect(tally.complete > 0)
      }
      print("\(kills) kills")
      // The first fifth opens entries and fills the pools of memory.
      #expect(fifths[4].memory < fifths[1].memory * 5 / 4 + 8192, "KiB")
      #expect(fifths[4].descriptors <= fifths[1].descriptors + 32)
      #expect(fifths[4].threads <= fifths[1].threads + 4)
      // Undisturbed, it serves everything.
      try await eventually("the proxy serves all files") {
        try await load.readAll(from: port)
      }
      lasting.send(SIGTERM)
      #expect(await lasting.end() == 128 + SIGTERM)
      await origin.stop()
    }
  }
#endif
