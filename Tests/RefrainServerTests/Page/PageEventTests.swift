// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import TestSupport
import Testing

@testable import RefrainProxy
@testable import RefrainServer

/// The events that keep an open page up to date.
@Suite(.timeLimit(.minutes(1))) struct PageEventTests {
  private func rows(_ event: [String: Any]) -> [[String: Any]] {
    event["rows"] as? [[String: Any]] ?? []
  }

  @Test func `The state has everything, and the events what changes`() async throws {
    try await withPage { test, _ async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      test.serve("/b", ["Cache-Control": "max-age=600"])
      #expect(try await test.get("/a").status == 200)
      try await test.connect { connection async throws in
        try await connection.request("/\(test.token)/page/events", host: test.host)
        let head = try await connection.readHead()
        #expect(head.status == 200 && head["Content-Type"] == "text/event-stream")
        let all = try await test.page("/page/state")
        #expect(all.rows.mapValues { $0["key"] as? String } == ["a": test.key("/a").rawValue])
        #expect(all.state["requests"] as? Int == 1 && all.state["hits"] as? Int == 0)
        #expect(try await test.get("/b").status == 200)
        let key = test.key("/b").rawValue
        let news = try await connection.nextEvent { event in
          rows(event).contains {
            $0["key"] as? String == key && $0["spans"] as? [Int64] == [0, Caching.length]
          }
        }
        #expect(rows(news).count == 1)
        _ = try await test.cache.remove(test.key("/a"))
        let gone = try await connection.nextEvent { ($0["removed"] as? [Any])?.isEmpty == false }
        #expect(gone["removed"] as? [String] == [test.key("/a").rawValue])
      }
    }
  }

  @Test func `The totals count since the start, also while nobody looks`() async throws {
    try await withPage { test, _ async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      for _ in 0..<4 { #expect(try await test.get("/a").status == 200) }
      try await eventually("all requests are counted") {
        try await test.page("/page/state").state["requests"] as? Int == 4
      }
      // The first request of all brought the bytes.
      let state = try await test.page("/page/state").state
      #expect(state["hits"] as? Int == 3)
      #expect(state["saved"] as? Int64 == 3 * Caching.length)
    }
  }

  @Test func `A row shows its readers and what is being fetched`() async throws {
    try await withPage { test, _ async throws in
      test.origin.serve(.synthetic(seed: 5, length: 2 << 20), at: "/slow")
      test.origin.script("/slow", .on(.first(1), .stall(at: .body(30_000))))
      try await test.connect { connection async throws in
        try await connection.request(try test.target("/slow"), host: test.host)
        _ = try await connection.readHead()
        _ = try await connection.read(upTo: 20_000)
        try await eventually("the row shows a fetch and a reader") {
          let row = try await test.rows()["slow"]
          guard let spans = row?["spans"] as? [Int64], let end = spans.last,
            let fetching = row?["fetching"] as? [Int64],
            let readers = row?["readers"] as? [Int64]
          else { return false }
          return spans == [0, end] && fetching.first == end && readers.count == 1
            && end <= 30_000 && readers[0] <= end
        }
      }
    }
  }

  @Test func `Nothing is collected after the last client leaves`() async throws {
    try await withPage { test, _ async throws in
      for _ in 0..<3 {
        try await test.connect { connection async throws in
          try await connection.request("/\(test.token)/page/events", host: test.host)
          _ = try await connection.readHead()
          #expect(test.proxy.connectionCount == 1)
        }
        // Whoever collects answers, and keeps the connection.
        try await eventually("the client is gone") { test.proxy.connectionCount == 0 }
        try await eventually("all responses have ended") {
          test.proxy.setup.responders.load(ordering: .acquiring) == 0
        }
      }
    }
  }

  @Test func `However entries change, the events add up to the state`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (events of the page)")
    try await withPage { test, _ async throws in
      let segments = (0..<3).map { "s\($0).ts" }
      test.serve(
        "#EXTM3U\n" + segments.map { "#EXTINF:4,\n\($0)\n" }.joined() + "#EXT-X-ENDLIST\n",
        at: "/main.m3u8", headers: [Field("Cache-Control", "max-age=600")])
      let names = (segments + ["a", "b", "c", "d", "e"]).map { "/" + $0 }
      for name in names { test.serve(name, ["Cache-Control": "max-age=600"]) }
      try await test.connect { connection async throws in
        try await connection.request("/\(test.token)/page/events", host: test.host)
        _ = try await connection.readHead()
        var random = SeededGenerator(seed: seed)
        for _ in 0..<12 {
          let name = (names + ["/main.m3u8"]).randomElement(using: &random) ?? "/a"
          switch Int.random(in: 0..<4, using: &random) {
          case 0: _ = try await test.cache.remove(test.key(name))
          case 1:
            _ = try await test.change(#"{"action":"pin","key":"\#(test.key(name).rawValue)"}"#)
          default: #expect(try await test.get(name).status == 200)
          }
        }
        try await eventually("every entry is at rest") {
          test.proxy.service.hits.releaseAll()
          return test.cache.activity().isEmpty
        }
        let state = try await test.page("/page/state").json["rows"] as? [[String: Any]] ?? []
        let wanted = Dictionary(state.map { ($0["key"] as? String, $0 as NSDictionary) }) { $1 }
        var found: [String?: NSDictionary] = [:]
        _ = try await connection.nextEvent { event in
          for row in rows(event) { found[row["key"] as? String] = row as NSDictionary }
          for key in event["removed"] as? [String] ?? [] { found[key] = nil }
          return found == wanted
        }
      }
    }
  }

  @Test func `The events end when the proxy stops`() async throws {
    try await withPage(proxy: { configuration, _ in configuration.stopTimeout = .seconds(60) }) {
      test, _ async throws in
      try await test.connect { connection async throws in
        try await connection.request("/\(test.token)/page/events", host: test.host)
        _ = try await connection.readHead()
        let begun = ContinuousClock.now
        await test.proxy.stop()
        _ = try await connection.readToEnd()
        #expect(!connection.wasReset)
        // Before the proxy cuts what remains.
        #expect(ContinuousClock.now - begun < test.proxy.configuration.stopTimeout)
      }
    }
  }
}
