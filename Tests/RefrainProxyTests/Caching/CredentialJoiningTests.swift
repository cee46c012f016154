// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// A refused request stands in the way of none with the right credentials. In a cache for several
/// people, none receives the response to others.
@Suite(.timeLimit(.minutes(2))) struct CredentialJoiningTests {
  private static let right = "Basic bWU6c2VjcmV0"

  private func serve(_ test: TestProxy, _ path: String) {
    var resource = Caching.resource(1, [:])
    resource.requiredHeader = Field("Authorization", Self.right)
    test.origin.serve(resource, at: path)
  }

  @Test func `A request without credentials does not cut one with them`() async throws {
    try await withProxy { test async throws in
      for round in 0..<20 {
        let path = "/a\(round)"
        serve(test, path)
        async let none = test.get(path)
        async let right = test.get(path, ["Authorization: \(Self.right)"])
        // In a cache of one person, what is stored is for every request.
        #expect(try await [200, 401].contains(none.status))
        let reply = try await right
        #expect(reply.status == 200 && reply.body == Caching.bytes(1), "\(reply.text)")
      }
    }
  }

  private func expectOwnAnswers(_ test: TestProxy, _ path: String) async throws {
    let log = try await test.settledLog(path).requests
    let refused = log.filter { $0.request.headers.first("Authorization") == nil }
    #expect(refused.allSatisfy { $0.status == 401 })
  }

  @Test(arguments: [false, true])
  func `A request repeated with credentials on another connection succeeds`(
    isShared: Bool
  ) async throws {
    try await Caching.withEither(isShared: isShared) { test async throws in
      for round in 0..<20 {
        let path = "/a\(round)"
        serve(test, path)
        // Two persistent connections, as a player's.
        try await test.connect { first async throws in
          let target = try test.target(path)
          let refused = try await first.reply(to: target, host: test.host)
          #expect(refused.status == 401 && refused["WWW-Authenticate"] != nil)
          let reply = try await test.get(path, ["Authorization: \(Self.right)"])
          #expect(reply.status == 200 && reply.body == Caching.bytes(1), "\(reply.text)")
        }
      }
    }
  }

  @Test func `In a cache for several people, each receives the response to its own credentials`()
    async throws
  {
    try await withReverseProxy { test async throws in
      for round in 0..<20 {
        let path = "/a\(round)"
        serve(test, path)
        async let none = test.get(path)
        async let wrong = test.get(path, ["Authorization: Basic eDp5"])
        async let right = test.get(path, ["Authorization: \(Self.right)"])
        async let ranged = test.get(path, ["Authorization: \(Self.right)", "Range: bytes=10-"])
        #expect(try await none.status == 401)
        #expect(try await wrong.status == 401)
        let reply = try await right
        #expect(reply.status == 200 && reply.body == Caching.bytes(1), "\(reply.text)")
        let part = try await ranged
        #expect(part.status == 206 && part.body == Array(Caching.bytes(1)[10...]), "\(part.text)")
        try await expectOwnAnswers(test, path)
      }
    }
  }

  @Test func `A request with credentials is sent to the origin with only those`() async throws {
    try await withProxy { test async throws in
      for round in 0..<15 {
        let path = "/a\(round)"
        serve(test, path)
        _ = try await test.get(path)
        let before = try await test.asked(path)
        let reply = try await test.get(path, ["Authorization: \(Self.right)"])
        #expect(reply.status == 200)
        let later = try await test.settledLog(path).requests.dropFirst(before)
        #expect(
          later.map { $0.request.headers.first("Authorization") } == [Self.right], "\(round)")
      }
    }
  }

  @Test func `A response stored for credentials is reused for the same credentials`() async throws {
    try await withProxy { test async throws in
      for round in 0..<10 {
        let path = "/a\(round)"
        var resource = Caching.resource(1, ["Cache-Control": "max-age=600"])
        resource.requiredHeader = Field("Authorization", Self.right)
        test.origin.serve(resource, at: path)
        async let none = test.get(path)
        async let right = test.get(path, ["Authorization: \(Self.right)"])
        #expect(try await [401, 200].contains(none.status))
        #expect(try await right.status == 200)
        let before = try await test.settledLog(path).requests.filter { $0.status != 401 }.count
        #expect(before == 1)
        #expect(try await test.get(path, ["Authorization: \(Self.right)"]).status == 200)
        let after = try await test.settledLog(path).requests.filter { $0.status != 401 }.count
        #expect(after == before, "\(round)")
      }
    }
  }

  @Test func `In a cache for several people, nothing stored for others is served`() async throws {
    try await withReverseProxy { test async throws in
      test.serve("/a", ["Cache-Control": "public, max-age=600"])
      test.origin.script(
        "/a",
        .on(
          .where { !["Bearer 1", "Bearer 2"].contains($0.headers.first("Authorization") ?? "") },
          .unauthorized))
      for _ in 0..<2 {
        for token in [1, 2] {
          let mine = try await test.get("/a", ["Authorization: Bearer \(token)"])
          #expect(mine.status == 200 && mine.body == Caching.bytes(1))
        }
        #expect(try await test.get("/a").status == 401)
        #expect(try await test.get("/a", ["Authorization: Bearer 3"]).status == 401)
        let stored = try await test.get(
          "/a", ["Authorization: Bearer 3", "Cache-Control: only-if-cached"])
        #expect(stored.status == 504)
      }
      let served = try await test.settledLog("/a").requests.filter { $0.status != 401 }
      #expect(served.count == 2)
    }
  }
}
