// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import RefrainAVFoundation
  import RefrainLocks
  import Testing

  /// Credentials, which AVPlayer cannot send by itself.
  @Suite(.timeLimit(.minutes(1))) struct AssetAuthorizationTests {
    @Test func `A token in a header is sent with every request`() async throws {
      try await withAssets { test in
        test.serve(1_000_000) { $0.requiredHeader = Field("X-Token", "secret") }
        var resource = test.resource()
        resource.headers = ["X-Token": "secret"]
        let player = CheckedPlayer(test.cache.asset(for: resource), bytes: test.bytes)
        try await player.ask()
        #expect(await (try player.request(.toEnd(from: 0))).end().isFinished)
        player.check()
        let log = test.origin.log("/song.wav")
        #expect(log.requests.allSatisfy { $0.request.headers.first("X-Token") == "secret" })
        #expect(log.requests.count > 1)
      }
    }

    @Test func `An expired token is renewed during playback`() async throws {
      let valid = Mutex("first")
      let asked = Mutex(0)
      try await withAssets { configuration in
        configuration.authorize = { resource, _ in
          asked.withLock { $0 += 1 }
          var resource = resource
          resource.headers["X-Token"] = valid.withLock { $0 }
          return resource
        }
      } _: { test in
        test.serve(3_000_000) { $0.requiredHeader = Field("X-Token", "first") }
        let player = test.player()
        try await player.ask()
        #expect(await (try player.request(.bytes(1000, at: 0))).end().isFinished)
        valid.withLock { $0 = "second" }
        test.serve(3_000_000) { $0.requiredHeader = Field("X-Token", "second") }
        #expect(await (try player.request(.toEnd(from: 0))).end().isFinished)
        player.check()
        #expect(asked.withLock { $0 } == 2)
      }
    }

    @Test
    func `Without another token, AVFoundation receives an authentication error`() async throws {
      try await withAssets {
        $0.authorize = { _, _ in nil }
      } _: { test in
        test.serve(1000) { $0.requiredHeader = Field("X-Token", "secret") }
        let player = test.player()
        let error = await (try player.request(.information())).end().error as? NSError
        #expect(error?.code == URLError.userAuthenticationRequired.rawValue)
        player.check()
      }
    }
  }
#endif
