// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainServer

/// `/health`, for balancers and the operator.
@Suite(.timeLimit(.minutes(2))) struct HealthTests {
  private struct Report: Decodable, Equatable {
    var status: String
    var node: String
    var disk: String
    var origin: String?
  }

  private func report(_ reply: Reply) throws -> Report {
    #expect(reply["Content-Type"] == "application/json")
    #expect(reply["Cache-Control"] == "no-store")
    return try JSONDecoder().decode(Report.self, from: Data(reply.body))
  }

  @Test func `A node is healthy until it drains, and then serves on`() async throws {
    try await withNode { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=60"])
      let healthy = try await test.admin("/health")
      #expect(healthy.status == 200)
      #expect(
        try report(healthy)
          == Report(status: "healthy", node: "node-1", disk: "works", origin: nil))
      let head = try await test.admin("/health", method: "HEAD")
      #expect(head.status == 200 && head.body.isEmpty)
      #expect(head["Content-Length"] == healthy["Content-Length"])

      test.proxy.beginDraining()
      let draining = try await test.admin("/health")
      #expect(draining.status == 503)
      #expect(try report(draining).status == "draining")
      for _ in 0..<3 {
        let reply = try await test.get("/a")
        #expect(reply.body == Caching.bytes(1))
        // The client goes elsewhere with its next request.
        #expect(reply["Connection"] == "close")
      }
    }
  }

  @Test func `A node whose disk fails is not healthy`() async throws {
    try await withNode { test async throws in
      #expect(try await test.admin("/health").status == 200)
      let entries = test.directory.appending(path: "entries")
      let elsewhere = test.directory.appending(path: "elsewhere")
      try FileManager.default.moveItem(at: entries, to: elsewhere)
      // A trial counts for a moment.
      try await eventually("the node reports its disk") {
        let reply = try await test.admin("/health")
        guard reply.status == 503 else { return false }
        let report = try report(reply)
        return report.status == "failing" && report.disk.contains(entries.path())
      }
      try FileManager.default.moveItem(at: elsewhere, to: entries)
      try await eventually("the disk works again") {
        try await test.admin("/health").status == 200
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: test.directory.path())
      #expect(!names.contains { $0.hasPrefix("trial") })
    }
  }

  @Test func `The state of the origin counts only if it is asked for`() async throws {
    try await withNode { test async throws in
      #expect(try report(try await test.admin("/health?origin")).origin == "answers")
      await test.origin.stop()
      #expect(try await test.admin("/health").status == 200)
      try await eventually("the origin is reported") {
        let reply = try await test.admin("/health?origin=1")
        guard reply.status == 503 else { return false }
        let report = try report(reply)
        return report.status == "failing" && report.disk == "works" && report.origin != "answers"
      }
    }
    try await withServer(server: { configuration, _ in
      configuration.adminAddress = ListeningAddress(host: "127.0.0.1", port: 0)
    }) { test async throws in
      #expect(try await test.admin("/health?origin").status == 400)
    }
  }

  @Test func `A trial that hangs is waited for once`() async throws {
    try await withNode { test async throws in
      test.serve("/", [:])
      test.origin.script("/", .on(.number(1), .delay(nil)))
      let health = HealthCheck(
        of: try ProxyService(cache: test.cache, configuration: test.proxy.configuration))
      // Waiting for each would take five minutes.
      for _ in 0..<200 {
        let report = try await health.report(asksOrigin: true)
        #expect(report.httpStatus == 503 && report.origin?.contains("has not answered") == true)
      }
      #expect(test.origin.log("/").requests.count <= 1)
      test.origin.release("/")
      try await eventually("the origin has answered") {
        try await health.report(asksOrigin: true).httpStatus == 200
      }
    }
  }

  @Test func `The public listener answers at the configured path alone`() async throws {
    try await withNode(server: { $0.healthPath = "/up" }) { test async throws in
      for path in ["/health", "/metrics", "/up/", "/up?x"] {
        #expect(try await test.get(path).status == 404)
        // Logged without its query.
        let log = test.origin.log(String(path.prefix { $0 != "?" }))
        #expect(
          log.requests.contains { $0.request.target == path }, "\(path) is the origin's")
      }
      let up = try await test.get("/up")
      #expect(up.status == 200 && up.text == "healthy\n")
      test.proxy.beginDraining()
      let draining = try await test.get("/up")
      #expect(draining.status == 503 && draining.text == "draining\n")
      #expect(!test.origin.log("/up").requests.contains { $0.request.target == "/up" })
      // A web page whose name points here learns nothing.
      let foreign = try await test.reply(to: "/up", host: "evil.example")
      #expect(foreign.status == 421)
    }
  }

  @Test func `A proxy with a token has the pages under its token`() async throws {
    try await withServer { test async throws in
      let base = try #require(test.proxy.baseURL)
      let token = base.path().split(separator: "/").joined()
      for (target, host, status) in [
        ("/\(token)/health", test.host, 200), ("/\(token)/metrics", test.host, 200),
        ("/\(token)/health", "evil.example", 421), ("/health", test.host, 404),
        ("/\(token)x/health", test.host, 404), ("/\(token)/healthy", test.host, 400),
      ] {
        let reply = try await test.reply(to: target, host: host)
        #expect(reply.status == status, "\(target) at \(host)")
      }
      for (page, allowed) in [("health", "GET, HEAD"), ("purge", "POST")] {
        // PURGE is for the operator's listener.
        for method in ["DELETE", "PURGE"] {
          let reply = try await test.reply(to: "/\(token)/\(page)?x", method: method)
          #expect(reply.status == 405 && reply["Allow"] == allowed, "\(method) \(page)")
        }
      }
      #expect(test.server?.adminListeningAddress == nil)
    }
  }

  @Test func `A path that no balancer can ask is refused`() throws {
    for path in ["up", "/", "/a?b"] {
      var configuration = ProxyServer.Configuration()
      configuration.healthPath = path
      let error = #expect(throws: CacheProxyError.self, "\(path)") { try configuration.check() }
      #expect(error?.code == .invalidConfiguration, "\(path)")
    }
  }

  @Test func `The operator's listener refuses other names, pages and methods`() async throws {
    try await withNode(server: { $0.proxy.names = ["node.example"] }) { test async throws in
      #expect(try await test.admin("/health", host: "evil.example").status == 421)
      #expect(try await test.admin("/health", host: "127.0.0.1:1").status == 421)
      #expect(try await test.admin("/health", host: "node.example:80").status == 200)
      let other = try await test.admin("/other")
      #expect(other.status == 404 && other.text.contains("/health and /metrics"))
      let post = try await test.admin("/health", method: "POST", body: "x")
      #expect(post.status == 405 && post["Allow"]?.contains("GET, HEAD") == true)
      // The origin is not reached from here.
      test.serve("/a", [:])
      #expect(try await test.admin("/a").status == 404)
      #expect(test.origin.log("/a").requests.isEmpty)
    }
  }
}
