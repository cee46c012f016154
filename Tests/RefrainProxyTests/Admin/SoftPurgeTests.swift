// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import Testing

@testable import RefrainProxy

/// Soft purges: the stored response is stale at once, and served while the origin is asked.
@Suite(.timeLimit(.minutes(2))) struct SoftPurgeTests {
  private static let fresh = ["Cache-Control": "max-age=600"]

  private func purge(_ path: String, _ test: TestProxy) async throws {
    let reply = try await test.admin(path, ["Fastly-Soft-Purge: 1"], method: "PURGE")
    let report = try PurgeReport(reply)
    #expect(report.soft && report.entries == 1 && report.freedBytes == 0)
  }

  @Test func `The old response is served until the origin has sent the new one`() async throws {
    try await withNode { test async throws in
      test.serve("/a", 1, Self.fresh)
      _ = try await test.get("/a")
      test.serve("/a", 2, Self.fresh)
      test.origin.script("/a", .on(.number(1), .delay(nil)))
      try await purge("/a", test)
      for _ in 0..<3 {
        let reply = try await test.get("/a")
        #expect(reply.body == Caching.bytes(1))
        #expect(reply["Cache-Status"]?.contains("; hit") == true, "\(reply.fields)")
        // Stale since the purge, however long it would have been fresh.
        #expect(reply["Cache-Status"]?.contains("; ttl=-") == true, "\(reply.fields)")
      }
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      test.origin.release("/a")
      try await eventually("the new version is served") {
        try await test.get("/a").body == Caching.bytes(2)
      }
      #expect(try await test.get("/a").body == Caching.bytes(2))
      // Once for each version.
      #expect(try await test.asked("/a") == 2)
    }
  }

  @Test func `An unchanged resource is confirmed, and not sent again`() async throws {
    try await withNode { test async throws in
      test.serve("/a", 1, Self.fresh)
      _ = try await test.get("/a")
      try await purge("/a", test)
      try await eventually("the origin has confirmed it") {
        #expect(try await test.get("/a").body == Caching.bytes(1))
        return try await test.asked("/a") == 2
      }
      for _ in 0..<2 { #expect(try await test.get("/a").body == Caching.bytes(1)) }
      let log = try await test.settledLog("/a")
      #expect(log.requests.count == 2 && log.bodyBytesSent == Caching.length)
    }
  }

  @Test(arguments: ["must-revalidate", "proxy-revalidate", "s-maxage=600"])
  func `A response that may not be served stale is confirmed first`(directive: String) async throws
  {
    try await withNode { test async throws in
      let fields = ["Cache-Control": "max-age=600, \(directive)"]
      test.serve("/a", 1, fields)
      _ = try await test.get("/a")
      test.serve("/a", 2, fields)
      try await purge("/a", test)
      #expect(try await test.get("/a").body == Caching.bytes(2))
    }
  }

  @Test func `An unsafe request after a soft purge has the response confirmed first`() async throws
  {
    try await withNode { test async throws in
      test.serve("/a", 1, Self.fresh)
      _ = try await test.get("/a")
      test.serve("/a", 2, Self.fresh)
      try await purge("/a", test)
      test.origin.script("/a", .on(.where { $0.method == "POST" }, .status(204)))
      #expect(try await test.get("/a", ["Content-Length: 0"], method: "POST").status == 204)
      #expect(try await test.get("/a").body == Caching.bytes(2))
    }
  }

  @Test func `A soft purge is recorded at once, and survives a restart`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(
      path: "refrain-proxy-test-\(UUID().uuidString)", directoryHint: .isDirectory)
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    for path in ["/open", "/closed"] { origin.serve(Caching.resource(1, Self.fresh), at: path) }
    func outdated() throws -> Int {
      let files = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil)
      return try (files?.allObjects ?? []).compactMap { $0 as? URL }
        .filter { $0.lastPathComponent == "entry.json" }
        .count { try String(contentsOf: $0, encoding: .utf8).contains(#""isOutdated":true"#) }
    }
    try await withReverseProxy(directory: directory, proxy: { $0.origin = origin.baseURL }) {
      for path in ["/closed", "/open"] {
        let url = origin.url(path)
        _ = try await $0.cache.prefetch(Resource(url: url))
      }
    }
    func restarted(_ body: (TestProxy) async throws -> Void) async throws {
      try await withReverseProxy(
        directory: directory,
        proxy: {
          $0.origin = origin.baseURL
          $0.adminAddress = ListeningAddress(host: "127.0.0.1", port: 0)
        }
      ) { test in try await body(test) }
    }
    try await restarted { test in
      let reader = try await test.cache.open(origin.url("/open"))
      defer { reader.cancel() }
      _ = try await reader.contentInformation()
      for path in ["/open", "/closed"] {
        let reply = try await test.admin(path, ["Fastly-Soft-Purge: 1"], method: "PURGE")
        #expect(try PurgeReport(reply).entries == 1)
      }
      #expect(try outdated() == 2)
    }
    try await restarted { test in
      for path in ["/open", "/closed"] {
        origin.resetLog(path)
        let target = path
        for _ in 0..<2 {
          let reply = try await test.connect { try await $0.reply(to: target, host: test.host) }
          #expect(reply.body == Caching.bytes(1))
        }
        let log = try await origin.wait(for: path) { $0.running == 0 }
        #expect(log.requests.map(\.status) == [304], "\(path)")
      }
    }
    await origin.stop()
  }

  @Test func `A purged response is served for a minute, and asked about once`() async {
    let purges = SoftPurges()
    let key = CacheKey(rawValue: "a")
    let asked = Asked()
    #expect(!purges.mayServe(key) {})
    let now = NIODeadline.now()
    purges.insert([key], at: now)
    for seconds in [0, 59] as [Int64] {
      #expect(purges.mayServe(key, at: now + .seconds(seconds)) { await asked.ask() })
    }
    #expect(!purges.mayServe(key, at: now + .seconds(60)) { await asked.ask() })
    #expect(!purges.mayServe(key, at: now) { await asked.ask() })
    await purges.stop()
    #expect(await asked.count <= 1)
  }

  private actor Asked {
    var count = 0

    func ask() { count += 1 }
  }
}
