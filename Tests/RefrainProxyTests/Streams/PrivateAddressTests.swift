// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import Testing

  @testable import RefrainProxy

  /// Public names that lead to private addresses. All names of these tests lead to this machine.
  @Suite(.timeLimit(.minutes(1))) struct PrivateAddressTests {
    private static let list = "list.example.com"
    private static let cdn = "cdn.example.com"

    private func with(
      allowed: [String] = [], _ body: (TestProxy) async throws -> Void
    ) async throws {
      try await withOrigin { origin in
        var settings = CurlTransport.Settings(environment: [:])
        settings.addresses = [Self.list, Self.cdn].map { "\($0):\(origin.port):127.0.0.1" }
        let transport = CurlTransport(settings)
        try await withProxy(
          origin: origin, cache: { $0.transport = transport },
          proxy: { configuration, _ in configuration.allowedHosts = allowed }
        ) { test in
          let cdn = "http://\(Self.cdn):\(origin.port)"
          test.serve(
            "#EXTM3U\n#EXTINF:2,\n\(cdn)/a.ts\n#EXTINF:2,\n\(cdn)/b.ts\n#EXTINF:2,\nown.ts\n",
            at: "/list.m3u8")
          for name in ["a.ts", "b.ts", "own.ts"] {
            origin.serve(.synthetic(seed: 1, length: 1000), at: "/\(name)")
          }
          try await body(test)
        }
      }
    }

    private func get(
      _ name: String, at host: String, _ test: TestProxy, _ fields: [String] = []
    ) async throws -> Reply {
      let target = "/\(test.token)/http/\(host):\(test.origin.port)/\(name)"
      return try await test.reply(to: target, fields)
    }

    @Test func `A name that a public playlist of another host names must have a public address`()
      async throws
    {
      try await with { test in
        // A person may choose any URL. The connection is kept.
        #expect(try await get("a.ts", at: Self.cdn, test).status == 200)
        let list = try await get("list.m3u8", at: Self.list, test)
        #expect(list.text.contains("/\(test.token)/http/\(Self.cdn)"))
        let refused = try await get("b.ts", at: Self.cdn, test)
        #expect(refused.status == 403, "\(refused.status)")
        #expect(refused.text.contains(Self.cdn) && refused.text.contains("--allow-host"))
        let relayed = try await get("b.ts", at: Self.cdn, test, ["Cache-Control: no-store"])
        #expect(relayed.status == 403 && relayed.text.contains("--allow-host"))
        #expect(test.origin.log("/b.ts").requests.isEmpty)
        // The playlist's own host is the one that the person chose.
        #expect(try await get("own.ts", at: Self.list, test).status == 200)
      }
    }

    @Test func `A redirect of a public host must lead to a public address`() async throws {
      try await with { test in
        let target = "http://\(Self.cdn):\(test.origin.port)/b.ts"
        test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/moved.ts")
        test.origin.script("/moved.ts", .on(.all, .redirect(302, to: target)))
        let refused = try await get("moved.ts", at: Self.list, test)
        #expect(refused.status != 200 && test.origin.log("/b.ts").requests.isEmpty)
      }
    }

    @Test func `An allowed host may have any address`() async throws {
      try await with(allowed: [Self.list, Self.cdn]) { test in
        _ = try await get("list.m3u8", at: Self.list, test)
        #expect(try await get("b.ts", at: Self.cdn, test).status == 200)
      }
    }
  }
#endif
