// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// A balancer passes on the name and the port at which clients reached it.
@Suite(.timeLimit(.minutes(2))) struct HostBehindBalancerTests {
  @Test func `A given name is accepted with any port, and an address only with its own`()
    async throws
  {
    try await withReverseProxy(proxy: { $0.names = ["media.example.org"] }) { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=60"])
      for round in 0..<2 {
        for (host, status) in [
          ("media.example.org", 200), ("media.example.org:443", 200), ("MEDIA.example.org:1", 200),
          (test.host, 200), ("127.0.0.1", 421), ("127.0.0.1:1", 421), ("localhost:1", 421),
          ("other.example.org", 421),
        ] {
          let reply = try await test.connect { try await $0.reply(to: "/a", host: host) }
          #expect(reply.status == status, "\(host) in round \(round)")
        }
      }
    }
  }

  @Test func `The error for another name says how the proxy gets that name`() async throws {
    try await withReverseProxy { test async throws in
      let reply = try await test.connect { try await $0.reply(to: "/a", host: "tv.example.org") }
      #expect(reply.status == 421)
      #expect(reply.text.contains("'serve --name'"))
    }
  }

  @Test(arguments: [
    "https://media.example.org", "media.example.org/", "*.example.org", "a b", "", "::1", ":80",
  ])
  func `A name that no request can have is refused`(_ name: String) {
    var configuration = CacheProxy.Configuration()
    configuration.names = ["media.example.org", name]
    let error = #expect(throws: CacheProxyError.self) { _ = try Routes(configuration) }
    #expect(error?.code == .invalidConfiguration)
    #expect(error?.reason.contains("not a valid name") == true)
    configuration.names = ["media.example.org:8080", "tv", "[::1]", "192.0.2.1"]
    #expect(throws: Never.self) { _ = try Routes(configuration) }
  }
}
