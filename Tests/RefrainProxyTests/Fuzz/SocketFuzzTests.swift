// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Connections full of requests, valid and invalid, split, cut off and abandoned, over real
/// sockets.
@Suite(.timeLimit(.minutes(TestSeed.minutes(2)))) struct SocketFuzzTests {
  @Test
  func `Random connections break no valid request and reach no forbidden resource`() async throws {
    var fuzz = Fuzz()
    print("SocketFuzzTests: REFRAIN_SEED=\(fuzz.seed)")
    try await withDirectory { place in
      try await withOrigin { try await run(&fuzz, in: place, forbidden: $0) }
    }
  }

  private func run(
    _ fuzz: inout Fuzz, in place: URL, forbidden: OriginServer
  ) async throws {
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    let secret = "secret-\(UUID().uuidString)"
    try Data(secret.utf8).write(to: place.appending(path: "secret"))
    try await withProxy(
      directory: place.appending(path: "cache", directoryHint: .isDirectory),
      proxy: { configuration, origin in
        configuration.allowedHosts = ["127.0.0.1:\(origin.port)"]
        configuration.headTimeout = .milliseconds(500)
        configuration.idleTimeout = .milliseconds(500)
      }
    ) { test in
      let plans = FuzzedConnection.Maker(
        test: test, forbidden: forbidden, cachePath: place.path, secret: secret)
      plans.serve()
      // Many wait half a second for the proxy to end them: a soak has more at once, and goes on until
      // it has enough, within the suite's time limit.
      let (width, least) = TestSeed.isSoak ? (32, 6000) : (8, 0)
      var (rounds, count, changed) = (0, 0, 0)
      while !fuzz.isOver || changed < least {
        let connections = (0..<width).map { _ in plans.make(&fuzz) }
        count += width
        changed += connections.count { $0.expected == nil }
        let port = test.port
        try await withThrowingTaskGroup(of: String?.self) { group in
          for connection in connections {
            group.addTask { try await onThread { connection.run(port: port) } }
          }
          for try await failure in group {
            if let failure { Issue.record("seed \(fuzz.seed), round \(rounds): \(failure)") }
          }
        }
        let good = try await test.get(FuzzedConnection.paths[0])
        #expect(good.status == 200 && good.isComplete)
        #expect(good.body == FuzzedConnection.bytes[0], "seed \(fuzz.seed), round \(rounds)")
        rounds += 1
      }
      print("SocketFuzzTests: seed \(fuzz.seed), \(count) connections, \(changed) changed")
      try await eventually("nobody is connected") { test.proxy.connectionCount == 0 }
      #expect(forbidden.connectionsAccepted == 0, "seed \(fuzz.seed)")
      let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
      #expect(names.sorted() == ["cache", "secret"])
      #expect(try Data(contentsOf: place.appending(path: "secret")) == Data(secret.utf8))
    }
  }
}
