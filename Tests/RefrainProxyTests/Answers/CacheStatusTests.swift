// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Cache-Status, Via and Age over the wire.
@Suite(.timeLimit(.minutes(2))) struct CacheStatusTests {
  /// Splits the field's only member into its name and its parameters.
  private func members(_ reply: Reply) throws -> (name: String, parameters: [String: String]) {
    let text = try #require(reply["Cache-Status"])
    var parts = text.split(separator: "; ").map(String.init)
    let name = parts.removeFirst()
    var parameters: [String: String] = [:]
    for part in parts {
      let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
      parameters[pair[0]] = pair.count > 1 ? pair[1] : ""
    }
    return (name, parameters)
  }

  private func withNode(
    proxy change: (inout CacheProxy.Configuration) -> Void = { _ in },
    _ body: (TestProxy) async throws -> Void
  ) async throws {
    try await withReverseProxy(
      proxy: { configuration in
        configuration.nodeName = "node-1"
        change(&configuration)
      }, body)
  }

  @Test func `A miss, a hit and a confirmation name the node and the time left`()
    async throws
  {
    try await withNode { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=60"])
      let miss = try members(try await test.get("/a"))
      #expect(miss.name == "node-1")
      #expect(miss.parameters["fwd"] == "uri-miss" && miss.parameters["stored"] == "")
      #expect(["59", "60"].contains(miss.parameters["ttl"]))
      for _ in 0..<3 {
        let reply = try await test.get("/a")
        let hit = try members(reply)
        #expect(hit.name == "node-1" && hit.parameters["hit"] == "")
        #expect(hit.parameters["fwd"] == nil)
        let (age, left) = (reply["Age"].flatMap { Int($0) }, hit.parameters["ttl"])
        #expect(age.map { (58...60).contains($0 + (left.flatMap { Int($0) } ?? 0)) } == true)
      }
      test.serve("/b", Caching.stale())
      _ = try await test.get("/b")
      let confirmed = try members(try await test.get("/b"))
      #expect(confirmed.parameters["fwd"] == "stale")
      #expect(confirmed.parameters["ttl"]?.hasPrefix("-") == true)
    }
  }

  @Test(arguments: ["Cache-Control: no-cache", "Cache-Control: max-age=0"])
  func `A response that the request excludes counts as stale`(
    _ field: String
  ) async throws {
    // One that is five seconds old is excluded by `max-age=0`, too.
    let fields = ["Cache-Control": "max-age=60", "Age": "5"]
    try await withNode { test async throws in
      test.serve("/a", 1, fields)
      _ = try await test.get("/a")
      let confirmed = try members(try await test.get("/a", [field]))
      #expect(confirmed.parameters["fwd"] == "stale")
      #expect(confirmed.parameters["ttl"]?.hasPrefix("-") == false)
    }
  }

  @Test func `A stale response that was replaced came from the origin`() async throws {
    try await withNode { test async throws in
      for seed in 1...3 as ClosedRange<UInt64> {
        test.serve("/a", seed, Caching.stale())
        let reply = try await test.get("/a")
        #expect(reply.body == Caching.bytes(seed))
        // The new version may have come whole before the reader turned to it.
        let reason = try members(reply).parameters["fwd"]
        #expect(reason == "uri-miss" || seed > 1 && reason == "stale")
      }
    }
  }

  @Test func `Responses of a node carry its name in Via`() async throws {
    try await withNode { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=60", "Via": "1.1 origin"])
      for _ in 0..<4 { #expect(try await test.get("/a")["Via"] == "1.1 node-1") }
      test.serve("/b", ["Cache-Control": "no-store", "Via": "1.1 origin"])
      _ = try await test.get("/b")
      let via = try await test.get("/b").fields.filter { $0.name == "Via" }.map(\.value)
      #expect(via == ["1.1 origin", "1.1 node-1"])
      let relayed = try members(try await test.get("/b"))
      #expect(relayed.parameters["fwd"] == "bypass" && relayed.parameters["hit"] == nil)
      let asked = try await test.settledLog("/a").requests[0].request
      #expect(asked.headers.first("CDN-Loop")?.hasPrefix("node-1-") == true)
    }
    // Between a player and the origins there is only this proxy.
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=60"])
      for _ in 0..<3 { #expect(try await test.get("/a")["Via"] == nil) }
    }
  }

  @Test func `A name of a node that does not fit into every field is refused`() async throws {
    try await withProxy { test async throws in
      func code(
        _ change: (inout CacheProxy.Configuration) -> Void
      ) -> CacheProxyError.Code? {
        var configuration = CacheProxy.Configuration()
        change(&configuration)
        do { _ = try CacheProxy(cache: test.cache, configuration: configuration) } catch {
          return error.code
        }
        return nil
      }
      for name in ["", "1a", "-a", "a b", "a;b", "a\"", "é", String(repeating: "a", count: 64)] {
        #expect(code { $0.nodeName = name } == .invalidConfiguration, "\(name)")
      }
      for name in ["a", "Refrain", "node-1.example_2", String(repeating: "a", count: 63)] {
        #expect(code { $0.nodeName = name } == nil, "\(name)")
      }
    }
  }
}
