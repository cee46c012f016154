// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

import RefrainProxy
@testable import RefrainServer

/// `ProxyServer.Configuration.clientLimits` over the wire.
@Suite(.timeLimit(.minutes(2))) struct ClientLimitTests {
  private let song = SyntheticBytes(seed: 1).bytes(in: 0..<40_000)

  private func withLimits(
    _ change: (inout ClientLimits) -> Void,
    _ configure: (inout ProxyServer.Configuration) -> Void = { _ in },
    _ body: (TestProxy) async throws -> Void
  ) async throws {
    try await withReverseServer(server: {
      change(&$0.clientLimits)
      configure(&$0)
    }) { test in
      test.origin.serve(
        OriginResource(
          .synthetic(seed: 1, length: 40_000), etag: "\"1\"",
          headers: [Field("Cache-Control", "max-age=1000")]), at: "/a")
      try await body(test)
    }
  }

  @Test func `Too many requests receive 429 with Retry-After, and the connection stays`()
    async throws
  {
    // One more after 100 seconds.
    try await withLimits({ $0.requestsPerSecond = 0.01 }) { test in
      try await test.connect { connection in
        for _ in 0..<10 {
          #expect(try await connection.reply(to: "/a", host: test.host).body == song)
        }
        for method in ["GET", "HEAD"] {
          let reply = try await connection.reply(to: "/a", method: method, host: test.host)
          #expect(reply.status == 429)
          let seconds = try #require(reply["Retry-After"].flatMap { Int($0) })
          #expect((1...100).contains(seconds))
          #expect(reply["Connection"] == nil)
        }
        let body = ["Content-Length: 3"]
        try await connection.request("/a", body, method: "POST", host: test.host)
        try await connection.send("abc")
        #expect(try await connection.readReply().status == 429)
      }
      #expect(test.origin.log("/a").requests.count == 1)
      try await eventually("all are logged") { test.log.all.count == 13 }
      #expect(test.log.all.count { $0.status == 429 && $0.source == .proxy } == 3)
    }
  }

  @Test func `A limit that permits nothing is refused`() throws {
    func check(_ change: (inout ClientLimits) -> Void) throws {
      var configuration = ProxyServer.Configuration()
      change(&configuration.clientLimits)
      try configuration.check()
    }
    func refuses(_ change: (inout ClientLimits) -> Void) -> Bool {
      let error = #expect(throws: CacheProxyError.self) { try check(change) }
      return error?.code == .invalidConfiguration
    }
    for count in [0, -1, Int.min] { #expect(refuses { $0.connections = count }) }
    for rate in [0, -1, .nan, .infinity, -Double.infinity] {
      #expect(refuses { $0.requestsPerSecond = rate })
    }
    for rate in [0, -1, Int64.min] { #expect(refuses { $0.bytesPerSecond = rate }) }
    try check { limits in
      (limits.connections, limits.requestsPerSecond, limits.bytesPerSecond) = (1, 0.001, 1)
    }
  }

  @Test func `A balancer's checks are not limited`() async throws {
    try await withLimits({ $0.requestsPerSecond = 0.01 }, { $0.healthPath = "/up" }) { test in
      try await test.connect { connection async throws in
        for _ in 0..<30 {
          #expect(try await connection.reply(to: "/up", host: test.host).status == 200)
        }
        #expect(try await connection.reply(to: "/a", host: test.host).status == 200)
      }
    }
  }

  @Test func `A connection beyond the limit receives 429, until another closes`() async throws {
    try await withLimits({ $0.connections = 2 }) { test in
      try await test.connect { first in
        #expect(try await first.reply(to: "/a", host: test.host).status == 200)
        try await test.connect { second in
          #expect(try await second.reply(to: "/a", host: test.host).status == 200)
          let reply = try await test.reply(to: "/a")
          #expect(reply.status == 429 && reply["Retry-After"] == "1")
          #expect(reply["Connection"] == "close")
        }
        try await eventually("the second has left") {
          try await test.connect { try await $0.reply(to: "/a", host: test.host).status == 200 }
        }
        #expect(try await first.reply(to: "/a", host: test.host).body == song)
      }
    }
  }

  @Test(arguments: [false, true])
  func `A client receives its bytes at the rate, from the cache and from the origin`(
    isStored: Bool
  ) async throws {
    // A quarter of a second's bytes come at once, all others take 0.75 seconds.
    try await withLimits({ $0.bytesPerSecond = 40_000 }) { test in
      if isStored { _ = try await test.cache.prefetch(Resource(url: test.origin.url("/a"))) }
      let start = ContinuousClock.now
      let reply = try await test.get("/a")
      #expect(reply.body == song && reply.isComplete)
      // The last eighth is not waited for.
      #expect(ContinuousClock.now - start > .milliseconds(500))
    }
  }

  @Test func `A relayed response keeps the client's rate and the origin's`() async throws {
    for isOrigin in [false, true] {
      try await withReverseServer(
        cache: { if isOrigin { $0.originRate = 40_000 } },
        server: { if !isOrigin { $0.clientLimits.bytesPerSecond = 40_000 } }
      ) { test async throws in
        test.origin.serve(
          OriginResource(
            .synthetic(seed: 1, length: 40_000), headers: [Field("Cache-Control", "no-store")]),
          at: "/a")
        let start = ContinuousClock.now
        #expect(try await test.get("/a", ["Cache-Control: no-store"]).body == song)
        #expect(ContinuousClock.now - start > .milliseconds(400))
      }
    }
  }

  /// It is sent in pieces that take seconds, and the client leaves in the middle of the first.
  @Test(arguments: [true, false])
  func `What a slow client received counts, although it leaves`(sendsFiles: Bool) async throws {
    let length: Int64 = 1 << 20
    try await withServer(server: { configuration, _ in
      configuration.proxy.sendsFiles = sendsFiles
      configuration.clientLimits.bytesPerSecond = 40_000
    }) { test async throws in
      try await Self.store(test, length)
      try await test.onSocket { client in
        try client.send(try test.request(for: "/a"))
        _ = try client.receive(exactly: 20_000)
        client.reset()
      }
      try await eventually("it is logged") { test.log.all.count == 1 }
      let logged = test.log.all[0]
      #expect(logged.bytesSent >= 15_000 && logged.bytesSent < length, "\(logged.bytesSent)")
      #expect(logged.bytesFromCache == logged.bytesSent)
    }
  }

  private static func store(_ test: TestProxy, _ length: Int64) async throws {
    var resource = OriginResource.synthetic(seed: 1, length: length)
    resource.headers = [Field("Cache-Control", "max-age=600")]
    test.origin.serve(resource, at: "/a")
    try await test.cache.prefetch(Resource(url: test.origin.url("/a")))
  }
}
