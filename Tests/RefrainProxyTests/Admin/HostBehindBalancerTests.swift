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
}
