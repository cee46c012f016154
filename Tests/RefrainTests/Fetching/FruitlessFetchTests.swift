// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Repeated responses without usable bytes: an error after a few requests, never a loop.
@Suite(.timeLimit(.minutes(1))) struct FruitlessFetchTests {
  private let length: Int64 = 300_007
  private let bytes = SyntheticBytes(seed: 7)
  private var resource: OriginResource { .synthetic(seed: 7, length: length) }

  @Test func `A 416 to the first byte causes one request without a range`() async throws {
    try await withCache { test in
      test.origin.script("/a", .on(.all, .status(416)))
      let error = await #expect(throws: MediaCacheError.self) { try await test.read("/a") }
      #expect(error?.status == 416 && error?.remedy.isEmpty == false)
      let log = test.origin.log("/a")
      #expect(log.requests.map(\.request.range) == ["bytes=0-", nil])
    }
  }

  @Test func `An origin that refuses every range is read by a request without one`() async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.where { $0.range != nil }, .status(416)))
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      #expect(test.origin.log("/a").requests.count == 2)
    }
  }

  static let fruitless: [[Fault]] = [
    [.status(304)], [.status(416)], [.gzip], [.closeWithoutAnswer],
    [.status(416, headers: [Field("Content-Range", "bytes */300007")])],
    [.status(206)], [.status(206, headers: [Field("Content-Range", "bytes */0")])],
    [.truncatedBody(to: 0), .chunked], [.drop(at: .body(0))],
    [.ignoreRange, .drop(at: .body(0))],
  ]

  @Test(arguments: fruitless.indices) func `Responses without usable bytes end in an error`(
    _ index: Int
  ) async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/a")
      test.origin.script("/a", .on(.all, Self.fruitless[index]))
      let error = await #expect(throws: MediaCacheError.self) {
        try await test.read("/a", 0..<1000)
      }
      #expect(error?.remedy.isEmpty == false)
      #expect(test.origin.log("/a").requests.count <= test.configuration.retry.attempts)
    }
  }
}
