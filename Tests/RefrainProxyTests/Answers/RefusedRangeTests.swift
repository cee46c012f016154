// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Origins that have a usable response only to requests without a range: clients never receive an
/// error that the cache's own range caused.
@Suite(.timeLimit(.minutes(1))) struct RefusedRangeTests {
  static let refusals: [[Fault]] = [
    [.status(400)], [.status(403)], [.status(405)], [.status(416)], [.status(501)],
    [.header("Content-Range", nil)], [.header("Content-Range", "bytes=0-1999/2000")],
    [.wrongContentLength(by: 1)],
  ]

  @Test(arguments: refusals.indices)
  func `Clients receive the whole, parts and heads`(_ index: Int) async throws {
    for isShared in [false, true] {
      for request in ["whole", "part", "head"] {
        try await Caching.withEither(isShared: isShared) { test async throws in
          test.serve("/a", ["Cache-Control": "max-age=600"])
          test.origin.script("/a", .on(.where { $0.range != nil }, Self.refusals[index]))
          switch request {
          case "whole":
            let reply = try await test.get("/a")
            #expect(reply.status == 200 && reply.body == Caching.bytes(1) && reply.isComplete)
          case "part":
            let reply = try await test.get("/a", ["Range: bytes=1500-"])
            #expect(reply.status == 206 && reply.body == Array(Caching.bytes(1)[1500...]))
          default:
            let reply = try await test.get("/a", method: "HEAD")
            #expect(reply.status == 200 && reply["Content-Length"] == "\(Caching.length)")
          }
          #expect(try await test.asked("/a") == 2)
        }
      }
    }
  }

  @Test(arguments: refusals.indices)
  func `A stale response is confirmed by one request without a range`(
    _ index: Int
  ) async throws {
    try await withProxy { test async throws in
      test.serve("/a", Caching.stale())
      test.origin.script("/a", .on(.where { $0.range != nil }, Self.refusals[index]))
      for _ in 0..<3 { #expect(try await test.get("/a").body == Caching.bytes(1)) }
      test.serve("/a", 2, Caching.stale())
      #expect(try await test.get("/a").body == Caching.bytes(2))
      let requests = try await test.settledLog("/a").requests.dropFirst()
      #expect(requests.map(\.status) == [200, 304, 304, 200])
      #expect(requests.allSatisfy { $0.request.range == nil })
    }
  }
}
