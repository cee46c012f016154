// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainProxy
import RefrainServer
import Testing

/// Purging stored responses by the operator.
@Suite(.timeLimit(.minutes(2))) struct PurgeTests {
  private static let fresh = ["Cache-Control": "max-age=600"]

  @Test func `A purged resource is fetched again, and others stay`() async throws {
    try await withNode { test async throws in
      for path in ["/a", "/a?b", "/b"] {
        test.serve(path, 1, Self.fresh)
        _ = try await test.get(path)
        test.serve(path, 2, Self.fresh)
      }
      let report = try PurgeReport(await test.admin("/a", method: "PURGE"))
      #expect(report.entries == 1 && report.node == "node-1")
      #expect(report.freedBytes >= Caching.length)
      #expect(try await test.cache.entry(for: test.key("/a")) == nil)
      #expect(try await test.get("/a").body == Caching.bytes(2))
      for path in ["/a?b", "/b"] {
        #expect(try await test.get(path).body == Caching.bytes(1), "\(path)")
      }
      #expect(try PurgeReport(await test.admin("/a?b", method: "PURGE")).entries == 1)
      #expect(try await test.get("/a?b").body == Caching.bytes(2))
      // Another node may have it.
      #expect(try PurgeReport(await test.admin("/unknown", method: "PURGE")).entries == 0)
      #expect(try await test.metrics().value("refrain_purged_entries_total") == 2)
    }
  }

  @Test func `All representations are purged, and those for credentials`() async throws {
    try await withNode { test async throws in
      let fields = [
        "Cache-Control": "public, max-age=600, must-revalidate", "Vary": "Accept-Language",
      ]
      let requests = [
        ["Accept-Language: en"], ["Accept-Language: de"], ["Authorization: Basic b25lOm9uZQ=="],
      ]
      func check(_ seed: UInt64) async throws {
        for fields in requests {
          #expect(try await test.get("/a", fields).body == Caching.bytes(seed), "\(fields)")
        }
      }
      test.serve("/a", 1, fields)
      try await check(1)
      test.serve("/a", 2, fields)
      try await check(1)
      let report = try PurgeReport(await test.admin("/a", method: "PURGE"))
      #expect(report.entries == 3)
      try await check(2)
      try await check(2)
    }
  }

  /// A response for everybody does not name those for credentials beside it.
  @Test func `Responses for credentials are purged beside one for everybody`() async throws {
    try await withNode { test async throws in
      let fields = ["Cache-Control": "public, max-age=600, must-revalidate"]
      let requests = [
        [], ["Authorization: Basic b25lOm9uZQ=="], ["Authorization: Basic dHdvOnR3bw=="],
      ]
      func check(_ seed: UInt64) async throws {
        for fields in requests {
          #expect(try await test.get("/a", fields).body == Caching.bytes(seed), "\(fields)")
        }
      }
      test.serve("/a", 1, fields)
      test.serve("/b", 1, fields)
      try await check(1)
      _ = try await test.get("/b")
      test.serve("/a", 2, fields)
      try await check(1)
      // The proxy keeps the responses for everybody open.
      try await eventually("those for credentials are closed") {
        await test.cache.figures().openEntries <= 2
      }
      let asked = try await test.asked("/a")
      let report = try PurgeReport(await test.admin("/a", method: "PURGE"))
      #expect(report.entries == 3)
      #expect(try await test.cache.entries().count == 1)
      try await check(2)
      #expect(try await test.asked("/a") == asked + 3)
    }
  }

  @Test func `A prefix and everything are purged`() async throws {
    try await withNode { test async throws in
      let paths = ["/album/1", "/album/2?x", "/albums", "/other"]
      var seed: UInt64 = 1
      func serve() async throws {
        seed += 1
        for path in paths {
          test.serve(path, seed, Self.fresh)
          _ = try await test.get(path)
          test.serve(path, seed + 1, Self.fresh)
        }
      }
      func purged() async throws -> [String] {
        var purged: [String] = []
        for path in paths
        where try await test.get(path).body == Caching.bytes(seed + 1) { purged.append(path) }
        seed += 1
        return purged
      }
      let base = test.origin.baseURL.absoluteString
      try await serve()
      #expect(try PurgeReport(await test.admin("/album/*", method: "PURGE")).entries == 2)
      #expect(try await purged() == ["/album/1", "/album/2?x"])
      for (body, expected) in [
        (#"{"prefixes": ["/album"]}"#, Array(paths[..<3])),
        (#"{"prefixes": ["\#(base)/album/2"], "urls": ["/other"]}"#, ["/album/2?x", "/other"]),
        (#"{"prefixes": ["\#(base)"]}"#, paths), (#"{"everything": true}"#, paths),
      ] {
        _ = try PurgeReport(await test.purge(#"{"everything": true}"#))
        try await serve()
        #expect(try PurgeReport(await test.purge(body)).entries == expected.count, "\(body)")
        let found = try await purged()
        #expect(found == expected, "\(body)")
      }
    }
  }

  @Test func `A URL of another host purges nothing`() async throws {
    try await withNode(server: { $0.proxy.names = ["media.example.org"] }) { test async throws in
      test.serve("/album/a?b", 1, Self.fresh)
      _ = try await test.get("/album/a?b")
      for body in [
        #"{"urls": ["https://elsewhere.example/album/a?b"]}"#,
        #"{"urls": ["https://media.example.org/album/a?b"]}"#,
        #"{"urls": ["http://127.0.0.1:1/album/a?b"]}"#,
        #"{"prefixes": ["https://example.org/"]}"#,
      ] {
        #expect(try await test.purge(body).status == 400, "\(body)")
      }
      #expect(try await test.cache.entries().count == 1)
    }
  }

  @Test func `A proxy of many origins is purged by whole URLs`() async throws {
    try await withServer(server: { configuration, _ in
      configuration.adminAddress = ListeningAddress(host: "127.0.0.1", port: 0)
    }) { test async throws in
      let base = try #require(test.proxy.baseURL)
      let target = "\(base.path())purge"
      for round in 0..<2 as Range<UInt64> {
        test.serve("/a", 2 * round, Self.fresh)
        if round == 0 { _ = try await test.get("/a") }
        test.serve("/a", 2 * round + 1, Self.fresh)
        let reply =
          round == 0
          ? try await test.admin("/http/127.0.0.1:\(test.origin.port)/a", method: "PURGE")
          : try await test.connect { connection in
            let body = #"{"urls": ["\#(test.origin.url("/a"))"]}"#
            try await connection.request(
              target, ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"],
              method: "POST", host: test.host)
            try await connection.send(body)
            return try await connection.readReply()
          }
        #expect(try PurgeReport(reply).entries == 1)
        #expect(try await test.get("/a").body == Caching.bytes(2 * round + 1))
      }
      #expect(try await test.admin("/a", method: "PURGE").status == 400)
      #expect(try await test.admin("/*", method: "PURGE").status == 400)
    }
  }

  @Test func `Errors of the operator's listener are sentences of plain text`() async throws {
    try await withNode(server: { $0.proxy.relayedMethods = .none }) { test async throws in
      test.serve("/a", 1, Self.fresh)
      _ = try await test.get("/a")
      test.serve("/a", 2, Self.fresh)
      let json = "Content-Type: application/json"
      let own = "http://127.0.0.1:\(test.adminPort)"
      let replies: [(Int, Reply)] = [
        (404, try await test.admin("/nothing")),
        (405, try await test.admin("/purge")),
        (421, try await test.admin("/a", method: "PURGE", host: "evil.example")),
        (403, try await test.admin("/a", ["Origin: http://evil.example"], method: "PURGE")),
        (403, try await test.admin("/a", ["Sec-Fetch-Site: cross-site"], method: "PURGE")),
        (403, try await test.purge(#"{"urls": ["/a"]}"#, [json, "Origin: http://evil.example"])),
        (415, try await test.purge(#"{"urls": ["/a"]}"#, ["Origin: \(own)"])),
        (400, try await test.purge("{}", [json])),
        // As other servers have it: what is not understood might limit the purge.
        (400, try await test.purge(#"{"urls": ["/a"], "soft": true}"#, [json])),
        (400, try await test.purge(#"{"tags": ["a"]}"#, [json])),
        (400, try await test.purge(#"{"urls": ["http://elsewhere.example/a"]}"#, [json])),
        (400, try await test.purge(#"{"urls": ["a"]}"#, [json])),
        (400, try await test.admin("/../a", method: "PURGE")),
      ]
      for (index, (status, reply)) in replies.enumerated() {
        #expect(reply.status == status, "\(index)")
        #expect(reply["Content-Type"] == "text/plain; charset=utf-8", "\(index)")
        #expect(reply.text.hasSuffix(".\n"), "\(reply.text)")
      }
      #expect(replies[1].1["Allow"] == "POST, PURGE")
      // Clients cannot purge.
      #expect(try await test.get("/a", method: "PURGE").status == 405)
      #expect(try await test.get("/a").body == Caching.bytes(1))
    }
  }
}

/// The answer to a purge.
struct PurgeReport: Decodable {
  var node: String
  var entries: Int
  var freedBytes: Int64

  init(_ reply: Reply) throws {
    #expect(reply.status == 200, "\(reply.text)")
    self = try JSONDecoder().decode(PurgeReport.self, from: Data(reply.body))
  }
}

extension TestProxy {
  /// Sends `POST /purge` to the listener for the operator.
  func purge(
    _ body: String, _ fields: [String] = ["Content-Type: application/json"]
  ) async throws -> Reply {
    try await admin("/purge", fields, method: "POST", body: body)
  }
}
