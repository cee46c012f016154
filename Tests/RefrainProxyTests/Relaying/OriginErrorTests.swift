// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Origin responses that cannot be stored or followed are relayed unchanged.
@Suite(.timeLimit(.minutes(2))) struct OriginErrorTests {
  @Test func `A temporary origin error is retried and not relayed`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", [:])
      test.origin.script("/a", .on(.first(1), .status(500)))
      let reply = try await test.get("/a")
      #expect(reply.status == 200 && reply.body == Caching.bytes(1))
    }
  }

  @Test func `Origin errors in the middle of a response are retried`() async throws {
    try await withProxy { test async throws in
      let length: Int64 = 1 << 20
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      test.origin.script("/a", .on(.number(2), .status(500)).on(.number(3), .status(503)))
      let reply = try await test.get("/a")
      #expect(reply.status == 200 && reply.isComplete)
      #expect(reply.body == SyntheticBytes(seed: 1).bytes(in: 0..<length))
    }
  }

  @Test func `A body in a declined content coding is relayed and not stored`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      test.origin.script("/a", .on(.all, .gzip))
      for round in 1...2 {
        let fields = ["Accept-Encoding: gzip, br", "Range: bytes=10-19", "If-Range: \"x\""]
        let reply = try await test.get("/a", fields)
        #expect(reply.status == 200 && reply["Content-Encoding"] == "gzip")
        #expect(reply.body.starts(with: [0x1F, 0x8B]) && reply.isComplete)
        let requests = try await test.settledLog("/a").requests
        // Once that is known, the client's request is the only one.
        #expect(requests.count == 1 + round)
        let last = try #require(requests.last?.request)
        #expect(last.headers.first("Accept-Encoding") == "gzip, br")
        #expect(last.range != nil && last.headers.first("If-Range") == "\"x\"")
      }
      #expect(try await test.cache.entries().isEmpty)
    }
  }

  static let nowhere: [(String, String?)] = [
    ("no Location", nil), ("another scheme", "ftp://a.example/x"), ("no URL", "http://[x"),
    ("a circle", "/a"),
  ]

  @Test(arguments: nowhere.indices)
  func `A redirect that cannot be followed is passed on`(index: Int) async throws {
    let (name, location) = Self.nowhere[index]
    try await withReverseProxy { test async throws in
      let fields = location.map { [Field("Location", $0)] } ?? []
      test.origin.script("/a", .on(.all, .status(302, headers: fields, body: Array("gone".utf8))))
      let reply = try await test.get("/a")
      #expect(reply.status == 302 && reply.body == Array("gone".utf8), "\(name)")
      #expect(reply["Location"] == location, "\(name)")
      #expect(try await test.asked("/a") == 1)
    }
  }
}
