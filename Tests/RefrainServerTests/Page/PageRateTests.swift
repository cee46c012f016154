// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainProxy
@testable import RefrainServer

/// The figures of the page, and how often it is sent them.
@Suite(.timeLimit(.minutes(TestSeed.minutes(2)))) struct PageRateTests {
  private static let length: Int64 = 1 << 20
  private static let limit: Int64 = 64 << 20

  private func withLimitedPage(_ body: (TestProxy) async throws -> Void) async throws {
    try await withServer(
      cache: { $0.limit = Self.limit },
      server: { configuration, _ in configuration.servesPage = true }
    ) { test in try await body(test) }
  }

  /// The rates in the events of a page, as they arrive.
  private struct Shown {
    var received: Int64 = 0
    var sent: Int64 = 0
    /// That of the row.
    var rate: Int64 = 0
    var mostReceived: Int64 = 0
    var mostSent: Int64 = 0
    var mostRate: Int64 = 0
    var stored: Int64 = 0
    var limit: Int64?
    var disk: Int64 = 0

    mutating func note(_ event: [String: Any], key: CacheKey) {
      let rows = event["rows"] as? [[String: Any]] ?? []
      for row in rows where row["key"] as? String == key.rawValue {
        stored = row["stored"] as? Int64 ?? 0
        rate = row["rate"] as? Int64 ?? 0
        mostRate = max(mostRate, rate)
      }
      guard let state = event["state"] as? [String: Any] else { return }
      received = state["received"] as? Int64 ?? -1
      sent = state["sent"] as? Int64 ?? -1
      mostReceived = max(mostReceived, received)
      mostSent = max(mostSent, sent)
      limit = state["limit"] as? Int64
      disk = state["disk"] as? Int64 ?? 0
    }

    var isAtRest: Bool { received == 0 && sent == 0 && rate == 0 }
  }

  @Test func `The rates are those of a fetch while it runs, and zero after it`() async throws {
    try await withLimitedPage { test async throws in
      var resource = OriginResource.synthetic(seed: 6, length: Self.length)
      resource.bytesPerSecond = 512 << 10
      resource.headers = [Field("Cache-Control", "max-age=600")]
      test.origin.serve(resource, at: "/slow")
      let key = test.key("/slow")
      try await test.connect { connection async throws in
        try await connection.request("/\(test.token)/page/events", host: test.host)
        _ = try await connection.readHead()
        var shown = Shown()
        _ = try await connection.nextEvent { event in
          shown.note(event, key: key)
          return event["state"] != nil
        }
        #expect(shown.isAtRest)
        async let download = test.get("/slow")
        _ = try await connection.nextEvent { event in
          shown.note(event, key: key)
          let received = test.cache.activity().first { $0.key == key }?.received ?? Self.length
          // An update comes a quarter of a second after the one before, or later; with a reserve
          // for clocks.
          #expect(shown.received <= 5 * received && shown.rate <= 5 * received)
          #expect(shown.sent <= 5 * test.proxy.service.traffic.sent)
          return shown.stored == Self.length && shown.isAtRest
        }
        let reply = try await download
        #expect(reply.body.count == Int(Self.length))
        #expect(shown.mostReceived > 0 && shown.mostSent > 0 && shown.mostRate > 0)
        #expect(shown.limit == Self.limit)
        #expect(shown.disk >= Self.length)
      }
      try await eventually("all sent bytes are counted") {
        test.proxy.service.traffic.sent == Self.length
      }
    }
  }

  @Test func `The first state has the use of the disk and the limit`() async throws {
    try await withLimitedPage { test async throws in
      for name in ["/a", "/b"] {
        test.serve(name, ["Cache-Control": "max-age=600"])
        #expect(try await test.get(name).status == 200)
      }
      try await eventually("the page shows what the cache uses") {
        let state = try await test.page("/page/state").state
        let used = try await test.cache.usage().allocatedBytes
        #expect(state["limit"] as? Int64 == Self.limit)
        return used > 0 && state["disk"] as? Int64 == used
      }
    }
  }

  @Test func `Fifty changes within a moment are four updates a second at most`() async throws {
    try await withPage { test, _ async throws in
      let names = (0..<50).map { "/\($0)" }
      for name in names { test.serve(name, ["Cache-Control": "max-age=600"]) }
      let begun = ContinuousClock.now
      try await test.connect { connection async throws in
        try await connection.request("/\(test.token)/page/events", host: test.host)
        _ = try await connection.readHead()
        for name in names {
          let reply = try await test.get(name)
          #expect(reply.status == 200)
        }
        var missing = Set(names.map { test.key($0).rawValue })
        var events = 0
        _ = try await connection.nextEvent { event in
          events += 1
          for row in event["rows"] as? [[String: Any]] ?? [] {
            if let key = row["key"] as? String { missing.remove(key) }
          }
          return missing.isEmpty
        }
        let seconds = (ContinuousClock.now - begun) / .seconds(1)
        print("50 changes in \(seconds) s: \(events) events")
        #expect(Double(events) <= seconds * 4 + 2)
      }
    }
  }

  @Test func `The page counts what is relayed as received from origins`() async throws {
    try await withPage(proxy: { configuration, _ in configuration.relayedMethods = .all }) {
      test, _ async throws in
      let body = SyntheticBytes(seed: 1).bytes(in: 0..<1 << 20)
      test.origin.script("/a", .on(.all, .status(201, headers: [], body: body)))
      let target = try test.target("/a")
      try await test.connect { page async throws in
        try await page.request("/\(test.token)/page/events", host: test.host)
        _ = try await page.readHead()
        _ = try await page.nextEvent { $0["state"] != nil }
        // Of several states that wait for a slow page, it receives the last one: bytes have to
        // arrive until it has seen some.
        let relaying = Task {
          while !Task.isCancelled {
            let reply = try await test.connect { client async throws in
              try await client.request(
                target, ["Content-Length: 1"], method: "POST", host: test.host)
              try await client.send("x")
              return try await client.readReply()
            }
            #expect(reply.body.count == 1 << 20)
          }
        }
        defer { relaying.cancel() }
        let news = try await page.nextEvent { event in
          ((event["state"] as? [String: Any])?["received"] as? Int ?? 0) > 0
        }
        relaying.cancel()
        _ = await relaying.result
        #expect(news["state"] != nil)
      }
    }
  }
}
